// SPDX-License-Identifier: BSD-3-Clause
// Leads the probes on all hosts through a test, and collects what each of them found.
//
// Used by one thread. A host that cannot be reached, or ends early, costs the others nothing: it is
// named with the reason.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "programs/torus_check/protocol.h"
#include "programs/torus_check/reach.h"
#include "programs/torus_check/worker.h"

namespace torusmp::check {

struct SurveyPlan {
    std::vector<std::string> hosts;            // by node
    std::vector<Job> jobs;                     // by node
    std::chrono::milliseconds timeout{30000};  // for hosts to be ready, and to report
    std::chrono::milliseconds wait{300};       // after the last probe
};

struct HostResult {
    std::string trouble;  // why that host has no result; empty: it has one
    config::HostFacts facts;
    ProbeReport report;  // of the first round
};

// What is being done, how much of how much has been done, of what ("hosts"), and the names of those
// that keep the others waiting (at first none); called often.
using Progress = std::function<void(const char* what, std::size_t done, std::size_t of,
                                    const char* things, const std::string& late)>;

class Coordinator : private Reach::Listener {
  public:
    // All of these must outlive this.
    Coordinator(const SurveyPlan& plan, Reach& reach, const Progress& progress);

    // Until every host is ready, or given up.
    void ask_hosts();
    // Of every host: its trouble, if it has one, and its facts.
    std::vector<HostResult> hosts() const;
    // A round of probes, and what each host reports of it, by node. `of`: the round for a node.
    std::vector<ProbeReport> send_round(const std::function<Round(int node)>& of);
    // What each host reports of the last round by now.
    std::vector<ProbeReport> ask_reports();

    struct Order {
        int node = 0;
        Push push;  // its id is given here
    };
    // Transfers over cables: all at once, or such that no host has more than one at a time, and
    // hosts that share a machine have only a few. Results in the order of the orders.
    enum class Pace { together, in_turns };
    std::vector<Pushed> push(const std::vector<Order>& orders, Pace pace);

  private:
    void said(int node, std::string_view text) override;
    void lost(int node, const std::string& why) override;
    void await(bool (Worker::*stage)() const, const char* what, const char* failure);
    bool keep_waiting(std::chrono::steady_clock::duration& left);
    std::string missing(bool (Worker::*stage)() const) const;
    std::vector<std::size_t> machines() const;

    const SurveyPlan& plan_;
    Reach& reach_;
    const Progress& progress_;
    std::vector<Worker> workers_;
    int last_round_ = -1, next_id_ = 0;
};

}  // namespace torusmp::check
