// SPDX-License-Identifier: BSD-3-Clause
// The head: the node daemon on the user's host, which runs the job to its end. Internal to
// head_daemon.cpp (the job) and head_hosts.cpp (the other hosts). Used by the process's one thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "programs/torus_run/daemon/attention.h"
#include "programs/torus_run/daemon/coordinator.h"
#include "programs/torus_run/daemon/head_daemon.h"
#include "programs/torus_run/daemon/link_watch.h"
#include "programs/torus_run/daemon/local_ranks.h"
#include "programs/torus_run/daemon/plug_watch.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/daemon/remote_output.h"
#include "programs/torus_run/front/preflight.h"
#include "programs/torus_run/monitor/job_monitor.h"
#include "programs/torus_run/streams/input.h"
#include "programs/torus_run/streams/output.h"
#include "programs/torus_run/tree/child_daemons.h"
#include "programs/torus_run/tree/daemon_tree.h"
#include "programs/torus_run/tree/tree_repair.h"

namespace torusmp::torus_run {

class Head : private Attention::Listener,
             private LocalRanks::Listener,
             private ChildDaemons::Listener,
             private Coordinator::Hosts,
             private TreeRepair::Listener,
             private Outputs::Flow {
  public:
    Head(const Job& job, DaemonContext context);
    Head(const Head&) = delete;
    Head& operator=(const Head&) = delete;

    // Runs the job to its end and returns the exit code of torus-run.
    int run();

  private:
    // ---- start ----

    void prepare();
    void watch_plugs() { plugs_.emplace(loop_, job_.settings, own_->job.node, own_->job.secret); }

    void await_plugs();
    void follow_plugs();
    bool all_ready();
    bool start();
    void forward_input();
    void report_ending() const;
    int exit_code() const;

    // ---- the loop ----

    void step();
    void user_signal(int signal) override { coordinator_.user_signal(signal); }
    void debugger_ready() override { coordinator_.resume(); }
    void front_gone() override;
    void child_changed(pid_t pid, int status, std::uint64_t memory) override;

    // ---- ranks of this host ----

    void handle_event(RankEvent event) override { coordinator_.handle_event(std::move(event)); }
    void printed(int rank, int stream, std::string_view text) override;
    void sampled(Sample sample) override;
    void watch(std::chrono::milliseconds interval);

    // ---- other hosts ----

    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes);
    void daemon_greeted(int node) override;
    void daemon_frame(Frame& frame) override;
    void understand(int node, Frame& frame);
    void daemon_cut(int node, Cut how, const std::string& why) override;
    void daemon_lost(int node, const std::string& why) override;
    void send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) override;
    void tree_frame(int node, Frame& frame) override;
    void tree_changed(const TreeWays& ways) override;
    void node_joined(int parent, int node) override;
    void node_lost(int node, const std::string& why) override;
    void unheard(int node);
    void daemon_output(int node, const std::string& text) override;
    const HostPlan& host(int node) const { return job_.hosts[std::size_t(node)]; }

    // ---- decisions of the coordinator ----

    void signal(int number) override;
    void answer(launch::FrameHeader header, SharedBytes bytes) override;
    void send_deaths(SharedBytes records) override;
    void send_end(const std::string& why) override;
    void show(const std::vector<ProcessEntry>& ranks) override;
    void stand_in(int node, int rank, std::uint32_t sequence) override;
    void question() override;
    void terminate() override;

    // ---- flow of output ----

    void pause(int stream, bool paused) override;
    void reader_gone(int stream) override;

    // ---- the end ----

    void end_everything();
    void end_other_hosts();
    void report_silent_hosts();
    void write_rest();
    static int head_node(const Job& job);

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
    bool cut_ = false;                        // by dead cables
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

}  // namespace torusmp::torus_run
