// SPDX-License-Identifier: BSD-3-Clause
#include "job/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "base/trace.h"
#include "collectives/settings.h"
#include "config/cable.h"
#include "config/geometry.h"
#include "config/load.h"
#include "core/settings.h"
#include "core/transport/common/settings.h"
#include "job/early_settings.h"
#include "job/front_ends.h"
#include "job/processors.h"
#include "job/settings.h"
#include "job/transports.h"

namespace torusmp::job {
namespace {

bool has_links(const core::Runtime& runtime) {
    return runtime.size() > 1 && runtime.options().direct.size() < std::size_t(runtime.size());
}

// The launcher notices after transport.timeout that a host is silent; the rest is for its reports
// to arrive, and for ranks that noticed earlier than the launcher.
std::chrono::nanoseconds longest_report(const config::Settings& settings) {
    const std::chrono::nanoseconds timeout = settings[transport::setting::timeout];
    return timeout + timeout / 2 + std::chrono::milliseconds(500);
}

}  // namespace

std::shared_ptr<Process> Process::acquire(bool threads) {
    static std::weak_ptr<Process> shared;
    // Outlives the Process; a child of this process does not use it.
    static std::shared_ptr<launch::Bootstrap> connection;
    static pid_t connected = -1;
    auto process = shared.lock();
    if (process && !process->left_) return process;
    if (connected == getpid()) {
        connection->join_again();
    } else {
        connection = launch::connect_bootstrap();
        connected = getpid();
    }
    // The constructor is private.
    process.reset(new Process(threads, connection, settings_for_rank(), false));
    shared = process;
    return process;
}

std::shared_ptr<Process> Process::join(std::unique_ptr<launch::Bootstrap> bootstrap,
                                       std::span<const std::string> environment, bool threads) {
    return std::shared_ptr<Process>(new Process(
        threads, std::move(bootstrap), config::load_for_rank(schema(), {}, environment), true));
}

std::uint64_t Process::number() const {
    std::uint64_t number = 0;
    std::memcpy(&number, bootstrap_->secret().data(), sizeof number);
    return number | 1;
}

// If it `joins`, the program runs already. It learns of a failure by an exception, and its signals
// are those of its first job.
Process::Process(bool threads, std::shared_ptr<launch::Bootstrap> bootstrap,
                 config::Settings settings, bool joins)
    : bootstrap_(std::move(bootstrap)),
      settings_(std::move(settings)),
      policy_(collectives::policy_of(settings_)),
      death_watch_(*bootstrap_) {
    if (!joins) base::set_trace_levels(base::parse_trace_levels(settings_[setting::log_level]));
    if (page_.page() != nullptr) bootstrap_->share_page(page_.descriptor());
    runtime_ = open_runtime(settings_, *bootstrap_, options(threads, joins));
    runtime_->connect(bootstrap_->exchange(runtime_->address()));
    // Deaths are reported also while this rank waits for links.
    if (bootstrap_->keeps_going() && bootstrap_->deaths_descriptor() >= 0)
        death_watch_.start(*runtime_, longest_report(settings_), joins);
    if (!joins) report_signal_.emplace(*runtime_);
    try {
        runtime_->await_links(bootstrap_->keeps_going());
        // Ranks continue together: a rank that ends because of a dead cable would look dead to a
        // rank that already communicates.
        if (has_links(*runtime_)) meet("the start of the job");
    } catch (const std::runtime_error& error) {
        death_watch_.stop();  // it uses the Runtime, which ends first
        if (joins) throw;
        // Called before anything is taken down, and through the launcher, which reports only the
        // cause and not its echoes.
        abort(1, error.what());
    }
}

Process::~Process() {
    death_watch_.stop();
}

core::Options Process::options(bool threads, bool joins) {
    const auto& local = bootstrap_->local_ranks();
    core::Options options{.torus = rank_torus(settings_, size()),
                          .rank = rank(),
                          .direct = {},
                          .log = [](std::string_view text) { fmt::print(stderr, "{}\n", text); },
                          .name_of = {}};
    if (settings_[core::setting::local] == core::LocalPaths::direct) options.direct = local;
    options.apply(settings_);
    const CoreSharing found = find_core_sharing(*bootstrap_, joins);
    options.oversubscribed = found.here;
    options.shares_cores = found.somewhere;
    options.threads = threads;
    options.tolerates_deaths = keeps_going() && bootstrap_->deaths_descriptor() >= 0;
    if (options.tolerates_deaths) options.on_loss = [this] { death_watch_.expect_report(); };
    options.on_interrupt = [this] { death_watch_.deliver(); };
    options.log_fault = [this](std::string_view text) { bootstrap_->note(text); };
    options.page = page_.page();
    options.log_link = [this](const routing::LinkNews& news) {
        bootstrap_->report_link(news);
        if (const auto watch = on_link_news.load()) watch(news);
    };
    options.on_hold = [](core::Rank from, std::size_t used, std::size_t limit) {
        if (const auto watch = on_unexpected_full.load()) watch(from, used, limit);
    };
    options.on_waits = [this](const core::Waits& waits, core::WaitsWanted why) {
        return why != core::WaitsWanted::text &&
               bootstrap_->report_waits(core::encode(waits), why == core::WaitsWanted::overdue);
    };
    options.dead_links = config::links_over(settings_, options.torus, bootstrap_->dead_cables());
    if (!host_names(settings_).empty() && !settings_[config::setting::dims].empty())
        options.name_of = [this](core::Rank rank) {
            return fmt::format("rank {} ({})", rank,
                               host_names(settings_)[std::size_t(node_of(settings_, rank))]);
        };
    return options;
}

Process::Meeting::Meeting(core::Runtime& runtime, std::string_view call)
    : runtime_(runtime), call_(call) {
    runtime_.add_reporter(*this);
}

void Process::Meeting::report(core::Waits& waits) const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began_;
    waits.calls.push_back({std::string(call_), time.count(), false});
    waits.meeting = true;
}

// A barrier that sleeps outside the Runtime. But until all ranks have arrived, this rank may have
// to relay packets of others, cables may die and come back, and waiting ranks may ask which call it
// is in.
void Process::meet(std::string_view call) {
    const Meeting meeting(*runtime_, call);
    if (size() > 1) {
        const bool relays = has_links(*runtime_);
        const auto longest = std::chrono::microseconds(relays ? 200 : 20'000);
        auto rest = std::chrono::microseconds(200);
        std::atomic<bool> everybody{false};
        std::exception_ptr in_vain;
        std::thread barrier([&] {
            try {
                bootstrap_->barrier();
            } catch (...) {
                in_vain = std::current_exception();
            }
            everybody = true;
        });
        while (!everybody) {
            if (runtime_->progress()) continue;
            std::this_thread::sleep_for(rest);
            rest = std::min(2 * rest, longest);
        }
        barrier.join();
        if (in_vain) std::rethrow_exception(in_vain);
    } else {
        bootstrap_->barrier();
    }
}

void Process::leave(std::string_view call) {
    if (left_) return;
    runtime_->wait_until([this] { return runtime_->state().quiet(); }, call);
    meet(call);
    // Immediately, even if memory that the program still holds keeps the Runtime alive.
    runtime_->say_goodbye();
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
