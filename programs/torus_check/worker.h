// SPDX-License-Identifier: BSD-3-Clause
// The state of one host and its probe in torus-check, from the lines that the probe sends.
//
// Owned by the coordinator and used by its one thread; pure bookkeeping.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/network.h"
#include "programs/torus_check/protocol.h"

namespace torusmp::torus_check {

class Worker {
  public:
    explicit Worker(int nodes) : nodes_(nodes) {}

    // Handles output of its probe. Throws nothing: output that cannot be parsed makes the host
    // fail.
    void hear(std::string_view text);
    // Nothing more is expected of this host.
    void give_up(const std::string& why);
    bool lost() const { return !trouble_.empty(); }
    const std::string& trouble() const { return trouble_; }

    bool ready() const { return lost() || stage_ == Stage::open; }
    // The host was ordered to send a round, or to report.
    void expect_sending() { sending_ = true; }
    void expect_report();
    bool sent() const { return lost() || !sending_; }
    bool reported() const { return lost() || !reporting_; }
    const config::HostFacts& facts() const { return facts_; }
    // The last whole report.
    const ProbeReport& report() const { return report_; }
    // Transfers that have ended since the last call, with their results.
    std::vector<Pushed> take_pushed() { return std::exchange(pushed_, {}); }

  private:
    enum class Stage { greeting, facts, open };

    void take_line(const std::string& line);
    void take_greeting(const std::string& line);
    void take_facts(const std::string& line);
    void take_answer(const std::string& line);

    int nodes_;
    Stage stage_ = Stage::greeting;
    std::string output_, facts_text_, trouble_;
    config::HostFacts facts_;
    bool facts_complete_ = false, sending_ = false, reporting_ = false;
    int noise_ = 0;
    ProbeReport report_;
    std::vector<Pushed> pushed_;
};

}  // namespace torusmp::torus_check
