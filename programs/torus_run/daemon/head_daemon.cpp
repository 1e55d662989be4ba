// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/head_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "config/load.h"
#include "core/transport/common/settings.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/ending.h"
#include "programs/torus_run/daemon/head.h"
#include "programs/torus_run/daemon/prepare.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

constexpr std::chrono::milliseconds longest_wait_for_plugs{1000};

}  // namespace

Head::Head(const Job& job, DaemonContext context)
    : job_(job),
      context_(std::move(context)),
      attention_(loop_, context_, *this),
      outputs_(loop_, job.size(), job.tag_output, files_of(job_), job.restart > 0, *this),
      coordinator_(job_, outputs_, *this),
      tree_(make_tree(job)),
      ways_(tree_.parents, launch_torus(job)),
      child_daemons_(loop_, head_node(job), tree_, job.settings[transport::setting::timeout],
                     *this),
      preflight_(job_),
      pulse_(job.settings[transport::setting::timeout]) {}

int Head::run() {
    prepare();
    while (!preflight_.complete() && !coordinator_.stopped()) step();
    await_plugs();
    follow_plugs();
    if (!coordinator_.stopped() && all_ready() && start()) {
        while (!coordinator_.over()) step();
    }
    end_everything();
    report_ending();
    return exit_code();
}

// ---- start ----

void Head::prepare() {
    if (under_debugger()) coordinator_.hold();
    for (const HostPlan& host : job_.hosts) {
        if (!host.here) continue;
        own_.emplace(make_order(job_, tree_, int(&host - job_.hosts.data())));
        ways_.greeted(own_->job.node);
        Prepared prepared = prepare_own_host(*own_);
        cpus_ = std::move(prepared.cpus);
        preflight_.answered(own_->job.node, std::move(prepared.facts));
        watch_plugs();
    }
    child_daemons_.start();
}

// Until every host knows the other ends of its links, so that ranks start with the devices that
// the links have now. A silent cable makes the job wait for the longest time.
void Head::await_plugs() {
    if (coordinator_.stopped() || job_.hosts.size() == 1 || !preflight_.good()) return;
    plugs_until_ = Clock::now() + longest_wait_for_plugs;
    const auto known = [&] {
        return plugged_.size() + (plugs_ && plugs_->complete() ? 1 : 0) == job_.hosts.size();
    };
    while (!coordinator_.stopped() && !known() && Clock::now() < *plugs_until_) step();
    plugs_until_.reset();
}

void Head::follow_plugs() {
    if (coordinator_.stopped() || !preflight_.good()) return;
    const auto changed = preflight_.follow(coordinator_.plugs().plugs());
    if (!changed) return;
    outputs_.print(fmt::format("torus-run: warning: {}\n", changed->warning));
    job_.settings = changed->settings;
    coordinator_.plugs().forget();
    changed_settings_ = config::export_environment(job_.settings);
    if (!own_) return;
    for (const std::string& variable : changed_settings_)
        set_variable(own_->job.environment, variable);
    watch_plugs();
}

bool Head::all_ready() {
    CableVerdict verdict = preflight_.verdict();
    unusable_ = verdict.unusable;
    cut_ = verdict.cut;
    for (const std::string& warning : verdict.warnings)
        outputs_.print(fmt::format("torus-run: warning: {}\n", warning));
    dead_cables_ = std::move(verdict.dead);
    if (verdict.refusal.empty()) return true;
    outputs_.print(fmt::format("torus-run: {}\n", verdict.refusal));
    coordinator_.stop(exit_usage);
    return false;
}

bool Head::start() {
    coordinator_.started(dead_cables_);
    const bool shared = preflight_.share_a_machine();
    child_daemons_.send(DaemonFrame::start, every_node,
                        share(encode(HostStart{shared, dead_cables_, changed_settings_})));
    links_.emplace(job_.settings, job_.hosts.size() > 1 ? head_node(job_) : -1);
    if (tree_.over_links) {
        child_daemons_.ranks_run(tree_.key);
        TreeRepair::Listener& listener = *this;
        repair_.emplace(ways_, head_node(job_), job_.settings[transport::setting::timeout],
                        listener);
    }
    if (shared) unbind(job_.common.bind, cpus_);
    if (!own_ || own_->job.ranks.front() != 0) forward_input();
    if (own_) {
        own_->job.dead_cables = dead_cables_;
        LocalRanks::Listener& listener = *this;
        local_.emplace(own_->job, std::move(cpus_), loop_,
                       RankWiring{context_.lifeline_read.get(), attention_.null(),
                                  context_.standard_input, &context_.signals, &context_.files},
                       listener);
        if (!local_->start_all()) return false;
    }
    if (const std::string why = monitor_.open(job_, getppid()); !why.empty() && job_.verbose)
        outputs_.print(fmt::format("torus-run: this job cannot be watched: {}\n", why));
    // From now on only the ranks hold their standard input.
    if (!input_) dup2(attention_.null(), STDIN_FILENO);
    return true;
}

void Head::forward_input() {
    const auto zero = std::find_if(job_.hosts.begin(), job_.hosts.end(), [](const auto& host) {
        return !host.ranks.empty() && host.ranks.front() == 0;
    });
    const auto node = std::uint32_t(zero - job_.hosts.begin());
    input_.emplace(loop_, context_.standard_input, [this, node](std::vector<std::byte> bytes) {
        send(DaemonFrame::input, node, share(std::move(bytes)));
    });
    input_->start();
}

// For the front, which may start the job again.
void Head::report_ending() const {
    if (!context_.ending || front_gone_) return;
    using How = JobEnding::How;
    const bool death = coordinator_.ended_by_death();
    leave_ending(context_.ending.get(),
                 coordinator_.has_started()
                     ? JobEnding{death ? How::death : How::over, coordinator_.lost_hosts()}
                     : JobEnding{cut_ ? How::cut : How::refused, unusable_});
}

// Output of ranks was lost because a disk is full.
int Head::exit_code() const {
    const int code = coordinator_.exit_code();
    return code == 0 && outputs_.lost() ? exit_failure : code;
}

// ---- the loop ----

void Head::step() {
    std::optional<Clock::time_point> next = coordinator_.next_tick();
    const auto sooner = [&next](const std::optional<Clock::time_point>& time) {
        if (time) next = next ? std::min(*next, *time) : *time;
    };
    sooner(outputs_.next_tick());
    if (local_) sooner(local_->next_tick());
    sooner(monitor_.next_tick());
    if (plugs_) sooner(plugs_->next());
    sooner(plugs_until_);
    // Hosts that are cut off may all be without a connection; they are called again by the pulse.
    attention_.step(pulse_.wait(next, repair_ || !child_daemons_.empty()));
    const auto now = Clock::now();
    if (pulse_.beat(now)) {
        child_daemons_.send(DaemonFrame::ping, every_node, nullptr);
        if (repair_) repair_->beat(now);
    }
    child_daemons_.tick(now, pulse_.asleep());
    child_daemons_.drop(false);
    if (local_) local_->tick(now, pulse_.asleep());
    std::vector<LinkTrouble> troubles;
    if (links_) troubles = links_->look(now, local_ ? &local_->pages() : nullptr);
    if (plugs_) plugs_->look(now, troubles);
    for (const LinkTrouble& it : troubles) coordinator_.link_trouble(head_node(job_), it);
    monitor_.tick(now);
    coordinator_.tick(now);
    outputs_.pump();
}

void Head::front_gone() {
    front_gone_ = true;
    coordinator_.stop(exit_failure);
}

void Head::child_changed(pid_t pid, int status, std::uint64_t memory) {
    if (local_ && local_->reaped(pid, status, memory)) return;
    child_daemons_.reaped(pid, status);  // or an orphan that became a child of this process
}

// ---- ranks of this host ----

void Head::printed(int rank, int stream, std::string_view text) {
    outputs_.take(rank, stream, text);
}

void Head::sampled(Sample sample) {
    links_->add_devices(sample);
    monitor_.take(head_node(job_), std::move(sample), true);
}

void Head::watch(std::chrono::milliseconds interval) {
    if (local_) local_->pages().watch(interval);
    const auto bytes = Packer().add(std::uint32_t(interval.count())).take();
    send(DaemonFrame::watch, every_node, share(bytes));
}

// ---- decisions of the coordinator ----

void Head::signal(int number) {
    if (local_) local_->signal(number);
    send(DaemonFrame::signal, every_node, share(Packer().add(number).take()));
}

void Head::answer(launch::FrameHeader header, SharedBytes bytes) {
    if (local_) local_->answer(header, bytes);
    if (child_daemons_.empty() && !repair_) return;  // those cut off get it when they are joined
    Packer packer;
    packer.add(header.kind).add(header.sequence);
    if (bytes) packer.append(*bytes);
    send(DaemonFrame::answer, every_node, share(packer.take()));
}

void Head::send_deaths(SharedBytes records) {
    if (local_) local_->send_deaths(records);
    send(DaemonFrame::deaths, every_node, records);
}

void Head::send_end(const std::string& why) {
    if (local_) local_->send_end(why);
    send(DaemonFrame::over, every_node, share(Packer().add(why).take()));
}

void Head::show(const std::vector<ProcessEntry>& ranks) {
    send_process_table(context_.front.get(), ranks);
}

void Head::stand_in(int node, int rank, std::uint32_t sequence) {
    if (node == head_node(job_)) return local_->stand_in(rank, sequence);
    send(DaemonFrame::stand_in, std::uint32_t(node),
         share(Packer().add(rank).add(sequence).take()));
}

void Head::question() {
    if (local_) local_->question();
    send(DaemonFrame::question, every_node, nullptr);
}

void Head::terminate() {
    if (local_) local_->terminate();
    send(DaemonFrame::terminate, every_node, nullptr);
}

// ---- flow of output ----

void Head::pause(int stream, bool paused) {
    if (local_) local_->streams().pause(stream, paused);
    if (!paused) remote_output_.resume(stream);
}

void Head::reader_gone(int stream) {
    if (local_) local_->streams().close(stream);
    const auto bytes = Packer().add(std::uint32_t(stream)).take();
    send(DaemonFrame::close_output, every_node, share(bytes));
}

// ---- the end ----

void Head::end_everything() {
    ending_ = true;
    const bool orderly = coordinator_.orderly();
    const int here = head_node(job_);
    HostEnd& own = ends_[here];
    if (orderly) own.left_behind = child_daemons_.orphans();  // no rank is left
    if (local_) local_->kill();
    end_other_hosts();
    for (const pid_t pid : kill_descendants(kill_timeout)) own.stuck.push_back(pid);
    if (front_gone_) return;
    for (const auto& [node, end] : ends_)
        outputs_.print(end.describe(node == here ? "" : " on host " + host(node).name, orderly));
    report_silent_hosts();
    coordinator_.report_rest();
    write_rest();
    outputs_.finish_lines();
    if (job_.verbose)
        outputs_.print(fmt::format("torus-run: the job ended after {:.3f} s with exit code {}\n",
                                   std::chrono::duration<double>(Clock::now() - began_).count(),
                                   exit_code()));
    monitor_.over(exit_code());
    outputs_.print(stopped_front_message(exit_code()));
    outputs_.flush(context_.front.get());
}

// Output that arrives meanwhile is still passed on while there is a reader.
void Head::end_other_hosts() {
    child_daemons_.give_up_waiting();
    if (child_daemons_.empty()) return;
    child_daemons_.send(DaemonFrame::finish, every_node, nullptr);
    auto deadline = Clock::now() + 2 * kill_timeout;
    while (!child_daemons_.all_gone() && !front_gone_ && Clock::now() < deadline) {
        step();
        if (outputs_.paused(output_stream) || outputs_.paused(errors_stream))
            deadline = Clock::now() + 2 * kill_timeout;
    }
    child_daemons_.drop(true);
}

void Head::report_silent_hosts() {
    const auto timeout = job_.settings[transport::setting::timeout];
    for (int node = 0; repair_ && node < int(job_.hosts.size()); ++node)
        if (ends_.count(node) == 0 && !ways_.is_lost(node))
            outputs_.print(silent_host_message(host(node).name, timeout));
}

// Reads every pipe to its end, after all writers have exited.
void Head::write_rest() {
    while (local_ && !local_->streams().drain() && ends_[head_node(job_)].stuck.empty())
        if (!outputs_.flush(context_.front.get())) return;
}

int Head::head_node(const Job& job) {
    for (std::size_t node = 0; node < job.hosts.size(); ++node)
        if (job.hosts[node].here) return int(node);
    return -1;
}

int run_head(const Job& job, DaemonContext context) {
    return Head(job, std::move(context)).run();
}

}  // namespace torusmp::torus_run
