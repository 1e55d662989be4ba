// SPDX-License-Identifier: BSD-3-Clause
// Leads the probes on all hosts through a test, and collects what each of them found.
//
// Used by one thread. A host that cannot be reached, or ends early, does not affect the others: it
// is reported with the reason.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "programs/reach/reach.h"
#include "programs/torus_check/protocol.h"
#include "programs/torus_check/worker.h"

namespace torusmp::torus_check {

struct SurveyPlan {
    std::vector<std::string> hosts;            // by node
    std::vector<Job> jobs;                     // by node
    std::chrono::milliseconds timeout{30000};  // for hosts to be ready, and to report
    std::chrono::milliseconds wait{300};       // after the last probe
};

struct HostResult {
    std::string trouble;  // why that host has no result; empty if it has one
    config::HostFacts facts;
    ProbeReport report;                  // of the first round
    std::set<std::string> blocked = {};  // devices whose packets a firewall seems to drop
};

// Reports progress: the activity, the number of things done and their total, what these are
// ("hosts"), and the names of the hosts that are still awaited (at first none). Called often.
using Progress = std::function<void(const char* what, std::size_t done, std::size_t of,
                                    const char* things, const std::string& late)>;

class Coordinator : private reach::Reach::Listener {
  public:
    // All of these must outlive this.
    Coordinator(const SurveyPlan& plan, reach::Reach& reach, const Progress& progress);

    // Waits until every host is ready or lost.
    void ask_hosts();
    // The trouble, if any, and the facts of every host.
    std::vector<HostResult> hosts() const;
    // Sends a round of probes and returns the reports by node. `of` returns the round for a node.
    std::vector<ProbeReport> send_round(const std::function<Round(int node)>& of);
    // Returns the current reports of the last round, by node.
    std::vector<ProbeReport> ask_reports();

    struct Order {
        int node = 0;
        Push push;  // push() assigns its id
    };
    // Transfers data over cables: all at the same time, or at most one per host and a few per
    // machine. Returns the results in the order of the orders.
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
    reach::Reach& reach_;
    const Progress& progress_;
    std::vector<Worker> workers_;
    int last_round_ = -1, next_id_ = 0;
};

}  // namespace torusmp::torus_check
