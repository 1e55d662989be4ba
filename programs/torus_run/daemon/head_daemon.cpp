// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/head_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "config/load.h"
#include "core/transport/common/settings.h"
#include "launch/settings.h"
#include "programs/torus_run/daemon/attention.h"
#include "programs/torus_run/daemon/coordinator.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/ending.h"
#include "programs/torus_run/daemon/link_watch.h"
#include "programs/torus_run/daemon/plug_watch.h"
#include "programs/torus_run/daemon/prepare.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/daemon/remote_output.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/front/preflight.h"
#include "programs/torus_run/monitor/job_monitor.h"
#include "programs/torus_run/streams/input.h"
#include "programs/torus_run/streams/output.h"
#include "programs/torus_run/streams/packing.h"
#include "programs/torus_run/tree/child_daemons.h"
#include "programs/torus_run/tree/daemon_tree.h"
#include "programs/torus_run/tree/tree_repair.h"

namespace torusmp::torus_run {
namespace {

constexpr std::chrono::milliseconds longest_wait_for_plugs{1000};

class Head : private Attention::Listener,
             private LocalRanks::Listener,
             private ChildDaemons::Listener,
             private Coordinator::Hosts,
             private TreeRepair::Listener,
             private Outputs::Flow {
  public:
    Head(const Job& job, DaemonContext context)
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

    int run() {
        prepare();
        while (!preflight_.complete() && !coordinator_.stopped()) step();
        await_plugs();
        follow_plugs();
        if (!coordinator_.stopped() && all_ready() && start()) {
            while (!coordinator_.over()) step();
            // A rank that died may have started processes that took the places of others.
            while (coordinator_.survived_deaths() && !front_gone_ &&
                   any_has_children_of_ranks(child_daemons_.orphans()))
                step();
        }
        end_everything();
        report_ending();
        return exit_code();
    }

  private:
    // ---- start ----

    void prepare() {
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

    void watch_plugs() { plugs_.emplace(loop_, job_.settings, own_->job.node, own_->job.secret); }

    // Until every host knows the other ends of its links, so that ranks start with the devices that
    // the links have now. A silent cable makes the job wait for the longest time.
    void await_plugs() {
        if (coordinator_.stopped() || job_.hosts.size() == 1 || !preflight_.good()) return;
        plugs_until_ = Clock::now() + longest_wait_for_plugs;
        const auto known = [&] {
            return plugged_.size() + (plugs_ && plugs_->complete() ? 1 : 0) == job_.hosts.size();
        };
        while (!coordinator_.stopped() && !known() && Clock::now() < *plugs_until_) step();
        plugs_until_.reset();
    }

    void follow_plugs() {
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

    bool all_ready() {
        CableVerdict verdict = preflight_.verdict();
        unusable_ = verdict.unusable;
        for (const std::string& warning : verdict.warnings)
            outputs_.print(fmt::format("torus-run: warning: {}\n", warning));
        dead_cables_ = std::move(verdict.dead);
        if (verdict.refusal.empty()) return true;
        outputs_.print(fmt::format("torus-run: {}\n", verdict.refusal));
        coordinator_.stop(exit_usage);
        return false;
    }

    bool start() {
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

    void forward_input() {
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
    void report_ending() const {
        if (job_.restarts == 0 || front_gone_) return;
        using How = JobEnding::How;
        const bool death = coordinator_.ended_by_death();
        leave_ending(context_.ending.get(),
                     coordinator_.has_started()
                         ? JobEnding{death ? How::death : How::over, coordinator_.lost_hosts()}
                         : JobEnding{How::refused, unusable_});
    }

    // Output of ranks was lost because a disk is full.
    int exit_code() const {
        const int code = coordinator_.exit_code();
        return code == 0 && outputs_.lost() ? exit_failure : code;
    }

    // ---- the loop ----

    void step() {
        std::optional<Clock::time_point> next = coordinator_.next_tick();
        const auto sooner = [&next](const std::optional<Clock::time_point>& time) {
            if (time) next = next ? std::min(*next, *time) : *time;
        };
        sooner(outputs_.next_tick());
        if (local_) sooner(local_->next_tick());
        sooner(monitor_.next_tick());
        if (plugs_) sooner(plugs_->next());
        sooner(plugs_until_);
        attention_.step(pulse_.wait(next, !child_daemons_.empty()));
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

    void user_signal(int signal) override { coordinator_.user_signal(signal); }
    void debugger_ready() override { coordinator_.resume(); }
    void front_gone() override {
        front_gone_ = true;
        coordinator_.stop(exit_failure);
    }
    void child_changed(pid_t pid, int status, std::uint64_t memory) override {
        if (local_ && local_->reaped(pid, status, memory)) return;
        child_daemons_.reaped(pid, status);  // or an orphan that became a child of this process
    }

    // ---- ranks of this host ----

    void handle_event(RankEvent event) override { coordinator_.handle_event(std::move(event)); }
    void printed(int rank, int stream, std::string_view text) override {
        outputs_.take(rank, stream, text);
    }
    void sampled(Sample sample) override {
        links_->add_devices(sample);
        monitor_.take(head_node(job_), std::move(sample), true);
    }
    void watch(std::chrono::milliseconds interval) {
        if (local_) local_->pages().watch(interval);
        const auto bytes = Packer().add(std::uint32_t(interval.count())).take();
        send(DaemonFrame::watch, every_node, share(bytes));
    }

    // ---- other hosts ----

    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) {
        repair_ ? repair_->send(kind, node, bytes) : child_daemons_.send(kind, node, bytes);
    }

    void daemon_greeted(int node) override {
        if (repair_) return repair_->joined(head_node(job_), node);
        ways_.greeted(node);
        child_daemons_.send(DaemonFrame::plan, std::uint32_t(node),
                            share(encode(make_order(job_, tree_, node))));
        if (job_.verbose)
            outputs_.print(fmt::format("torus-run: reached host {}\n", host(node).name));
    }

    void daemon_frame(Frame& frame) override {
        const int node = int(frame.header.sequence);
        if (node < 0 || node >= int(job_.hosts.size())) return;
        try {
            if (!repair_ || !repair_->heard(node, frame)) understand(node, frame);
        } catch (const PackingError& error) {
            daemon_lost(node, fmt::format("is lost: {}", error.what()));
        }
    }

    void understand(int node, Frame& frame) {
        Unpacker body(frame.body);
        switch (DaemonFrame(frame.header.kind)) {
            case DaemonFrame::greeted:
                return daemon_greeted(node);
            case DaemonFrame::facts:
                return preflight_.answered(node, decode_facts(frame.body));
            case DaemonFrame::event:
                return coordinator_.handle_event(decode_event(frame.body));
            case DaemonFrame::output:
                return remote_output_.printed(node, body);
            case DaemonFrame::output_ended:
                return remote_output_.ended(body);
            case DaemonFrame::input_taken:
                return input_ ? input_->taken(std::size_t(body.get<std::uint64_t>())) : void();
            case DaemonFrame::input_closed:
                return input_ ? input_->close() : void();
            case DaemonFrame::done:
                return void(ends_[node] = decode_end(frame.body));
            case DaemonFrame::unheard:
                return unheard(node);
            case DaemonFrame::plugged:
                return void(plugged_.insert(node));
            case DaemonFrame::link_trouble:
                return coordinator_.link_trouble(node, decode_trouble(frame.body));
            case DaemonFrame::sample:
                return monitor_.take(node, decode_sample(frame.body), false);
            case DaemonFrame::lost:
                return daemon_lost(node, body.text());
            default:
                return;  // alive: only its arrival matters
        }
    }

    void daemon_cut(int node, Cut how, const std::string& why) override {
        if (!ending_) repair_->cut(head_node(job_), node, how, why);
    }
    void daemon_lost(int node, const std::string& why) override {
        if (ending_) return;
        if (coordinator_.has_started()) return node_lost(node, why);
        if (tree_.over_links && !ways_.has_greeted(node)) {
            const bool another_way = ways_.failed(node);
            tree_changed({0, ways_.parents(), {}});
            if (another_way) return;
        }
        preflight_.failed(node, why, ways_.others_that_tried(node), ways_.behind(node));
    }

    void send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) override {
        child_daemons_.send(kind, node, bytes);
    }
    void tree_frame(int node, Frame& frame) override {
        if (!repair_->heard(node, frame)) understand(node, frame);
    }
    // Notifies the other daemons first, because a child that is connected is joined immediately.
    void tree_changed(const TreeWays& ways) override {
        tree_.parents = ways.parents;
        child_daemons_.send(DaemonFrame::ways, every_node, share(encode(ways)));
        child_daemons_.follow(ways);
    }
    void node_joined(int parent, int node) override {
        if (!job_.verbose) return;
        const std::string over = parent < 0 ? "" : ", over host " + host(parent).name;
        outputs_.print(fmt::format("torus-run: reached host {} again{}\n", host(node).name, over));
    }
    void node_lost(int node, const std::string& why) override {
        if (!ending_) coordinator_.host_lost(node, why, ways_.behind(node));
    }

    // A host ended its ranks because it received nothing from the head: reports which side was
    // asleep.
    void unheard(int node) {
        const std::chrono::nanoseconds timeout = job_.settings[transport::setting::timeout];
        const auto slept = pulse_.longest_sleep(Clock::now());
        if (ending_ || 2 * slept < timeout)
            return daemon_lost(
                node, fmt::format("is lost: it received nothing from torus-run for longer than "
                                  "transport.timeout = {}",
                                  base::format_time(timeout)));
        coordinator_.host_lost(node, own_sleep_message(slept, timeout));
    }

    void daemon_output(int node, const std::string& text) override {
        if (!job_.verbose) return;
        const char* const end = text.ends_with('\n') ? "" : "\n";
        outputs_.print(fmt::format("torus-run: host {}: {}{}", host(node).name, text, end));
    }

    const HostPlan& host(int node) const { return job_.hosts[std::size_t(node)]; }

    // ---- decisions of the coordinator ----

    void signal(int number) override {
        if (local_) local_->signal(number);
        send(DaemonFrame::signal, every_node, share(Packer().add(number).take()));
    }
    void answer(launch::FrameHeader header, SharedBytes bytes) override {
        if (local_) local_->answer(header, bytes);
        if (child_daemons_.empty()) return;
        Packer packer;
        packer.add(header.kind).add(header.sequence);
        if (bytes) packer.append(*bytes);
        send(DaemonFrame::answer, every_node, share(packer.take()));
    }
    void send_deaths(SharedBytes records) override {
        if (local_) local_->send_deaths(records);
        send(DaemonFrame::deaths, every_node, records);
    }
    void send_end(const std::string& why) override {
        if (local_) local_->send_end(why);
        send(DaemonFrame::over, every_node, share(Packer().add(why).take()));
    }
    void show(const std::vector<ProcessEntry>& ranks) override {
        send_process_table(context_.front.get(), ranks);
    }
    void question() override {
        if (local_) local_->question();
        send(DaemonFrame::question, every_node, nullptr);
    }
    void terminate() override {
        if (local_) local_->terminate();
        send(DaemonFrame::terminate, every_node, nullptr);
    }

    // ---- flow of output ----

    void pause(int stream, bool paused) override {
        if (local_) local_->streams().pause(stream, paused);
        if (!paused) remote_output_.resume(stream);
    }
    void reader_gone(int stream) override {
        if (local_) local_->streams().close(stream);
        const auto bytes = Packer().add(std::uint32_t(stream)).take();
        send(DaemonFrame::close_output, every_node, share(bytes));
    }

    // ---- the end ----

    void end_everything() {
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
            outputs_.print(
                end.describe(node == here ? "" : " on host " + host(node).name, orderly));
        say_who_did_not_answer();
        coordinator_.report_rest();
        write_rest();
        outputs_.finish_lines();
        if (job_.verbose)
            outputs_.print(fmt::format(
                "torus-run: the job ended after {:.3f} s with exit code {}\n",
                std::chrono::duration<double>(Clock::now() - began_).count(), exit_code()));
        monitor_.over(exit_code());
        outputs_.print(stopped_front_message(exit_code()));
        outputs_.flush(context_.front.get());
    }

    // Output that arrives meanwhile is still passed on while there is a reader.
    void end_other_hosts() {
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

    void say_who_did_not_answer() {
        const auto timeout = job_.settings[transport::setting::timeout];
        for (int node = 0; repair_ && node < int(job_.hosts.size()); ++node)
            if (ends_.count(node) == 0 && !ways_.is_lost(node))
                outputs_.print(silent_host_message(host(node).name, timeout));
    }

    // Reads every pipe to its end, after all writers have exited.
    void write_rest() {
        while (local_ && !local_->streams().drain() && ends_[head_node(job_)].stuck.empty())
            if (!outputs_.flush(context_.front.get())) return;
    }

    static int head_node(const Job& job) {
        for (std::size_t node = 0; node < job.hosts.size(); ++node)
            if (job.hosts[node].here) return int(node);
        return -1;
    }

    Job job_;
    DaemonContext context_;
    const Clock::time_point began_ = Clock::now();
    Loop loop_;
    Attention attention_;
    Outputs outputs_;
    RemoteOutput remote_output_{outputs_, job_.size(), [this](int node, SharedBytes taken) {
                                    send(DaemonFrame::output_taken, std::uint32_t(node), taken);
                                }};
    Coordinator coordinator_;
    HostOrder tree_;
    DaemonTree ways_;  // its parents are those of the tree
    ChildDaemons child_daemons_;
    std::optional<TreeRepair> repair_;  // over the torus, once ranks run
    Preflight preflight_;
    std::optional<LinkWatch> links_;  // once ranks run
    Pulse pulse_;
    JobMonitor monitor_{loop_, [this](auto interval) { watch(interval); }};
    std::optional<HostOrder> own_;
    std::vector<config::CpuList> cpus_;
    std::vector<routing::Link> dead_cables_;  // at the start
    std::vector<int> unusable_;               // nodes for which the start was refused
    std::optional<LocalRanks> local_;
    std::optional<PlugWatch> plugs_;
    std::set<int> plugged_;  // nodes that know the other ends of their links
    std::optional<Clock::time_point> plugs_until_;
    std::vector<std::string> changed_settings_;  // variables, if links have other devices now
    std::optional<InputSource> input_;
    std::map<int, HostEnd> ends_;
    bool ending_ = false;
    bool front_gone_ = false;
};

}  // namespace

int run_head(const Job& job, DaemonContext context) {
    return Head(job, std::move(context)).run();
}

}  // namespace torusmp::torus_run
