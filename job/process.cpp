#include "job/process.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "config/cpus.h"
#include "config/load.h"
#include "job/transports.h"

namespace torusmp::job {
namespace {

// Processors on which the ranks of this host run. Each may be bound to its own part, so the
// launcher, which is not, is asked too.
double processors_of_job() {
    std::size_t count = config::allowed_cpus().size();
    cpu_set_t set;
    if (sched_getaffinity(getppid(), sizeof set, &set) == 0)
        count = std::max(count, std::size_t(CPU_COUNT(&set)));
    const auto quota = config::cpu_quota();
    return quota ? std::min(double(count), *quota) : double(count);
}

}  // namespace

std::shared_ptr<Process> Process::acquire(bool threads) {
    static std::weak_ptr<Process> shared;
    auto process = shared.lock();
    if (!process) {
        process.reset(new Process(threads));  // the constructor is private
        shared = process;
    }
    return process;
}

Process::Process(bool threads)
    : bootstrap_(launch::connect_bootstrap()),
      settings_(config::load_for_rank()),
      policy_(settings_.collective_policy()),
      death_watch_(*bootstrap_) {
    runtime_ = open_runtime(settings_, *bootstrap_, options(threads));
    runtime_->connect(bootstrap_->exchange(runtime_->address()));
    if (bootstrap_->keeps_going() && bootstrap_->deaths_descriptor() >= 0)
        death_watch_.start(*runtime_);
    report_signal_.emplace(*runtime_);
}

Process::~Process() {
    death_watch_.stop();
}

core::Options Process::options(bool threads) {
    const auto& local = bootstrap_->local_ranks();
    core::Options options{.torus = settings_.rank_torus(size()),
                          .rank = rank(),
                          .direct = {},
                          .log = [](std::string_view text) { fmt::print(stderr, "{}\n", text); },
                          .name_of = {}};
    if (*settings_.local == config::LocalPaths::direct) options.direct = local;
    options.eager_limit = *settings_.eager_limit;
    options.tokens = *settings_.tokens;
    options.relay_tokens = *settings_.relay_tokens;
    options.spin = *settings_.spin;
    options.oversubscribed = double(local.size()) > processors_of_job();
    options.threads = threads;
    options.progress_thread = *settings_.progress == config::ProgressMode::thread;
    options.watchdog = *settings_.watchdog;
    options.on_interrupt = [this] { death_watch_.tell(); };
    options.far_direct = *settings_.forward == config::Forward::kernel;
    if (!settings_.hosts->empty() && !settings_.dims->empty())
        options.name_of = [this](core::Rank rank) {
            return fmt::format("rank {} ({})", rank,
                               (*settings_.hosts)[std::size_t(settings_.node_of(rank))]);
        };
    return options;
}

void Process::leave() {
    if (left_) return;
    runtime_->wait_until([this] { return runtime_->quiet(); }, "the end of the job");
    // The barrier sleeps outside the Runtime, but until everybody has come packets of others may
    // have to pass through here.
    if (runtime_->options().direct.size() < std::size_t(size()) && size() > 1) {
        std::atomic<bool> everybody{false};
        std::thread barrier([&] {
            bootstrap_->barrier();
            everybody = true;
        });
        while (!everybody)
            if (!runtime_->progress()) std::this_thread::sleep_for(std::chrono::microseconds(200));
        barrier.join();
    } else {
        bootstrap_->barrier();
    }
    death_watch_.stop();  // it reads from the launcher
    bootstrap_->finalize();
    left_ = true;
}

void Process::abort(int code, std::string_view message) {
    std::fflush(nullptr);
    bootstrap_->abort(code, message);
    std::abort();  // not reached; gcc 12 does not believe a virtual function
}

void end_process(int code, std::string_view message) {
    if (!message.empty()) fmt::print(stderr, "{}\n", message);
    std::exit(code);
}

}  // namespace torusmp::job
