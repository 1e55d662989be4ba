// SPDX-License-Identifier: BSD-3-Clause
// Checks that every host is ready before any rank starts, and otherwise reports all problems in one
// message; a dead cable does not prevent the start while the others connect all hosts. Pure
// bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/network.h"
#include "config/plugs.h"
#include "programs/torus_run/front/cable_verdict.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

class Preflight {
  public:
    // `job` must outlive this object.
    explicit Preflight(const Job& job);

    void answered(int node, HostFacts facts);
    // The node will not answer, nor will the nodes `behind` it; `why` completes "host qcd001 ...".
    // `tried` contains the other nodes that have tried to reach it.
    void failed(int node, const std::string& why, const std::vector<int>& tried,
                const std::vector<int>& behind);
    bool complete() const { return open_ == 0; }
    // Whether several hosts are namespaces of one machine, so that each sees all of its processors.
    bool share_a_machine() const;
    // Whether all hosts have answered and are ready, whatever their cables are. Precondition:
    // complete().
    bool good() const { return group().empty(); }
    // The settings with the devices that links have now, if cables are at other devices of their
    // hosts than in the settings (`heard`), and a warning that names them. Precondition: good().
    struct Followed {
        config::Settings settings;
        std::string warning;
    };
    std::optional<Followed> follow(const config::Plugs& heard) const;
    // Whether the job may start, with warnings or the refusal. Precondition: complete().
    CableVerdict verdict() const;

  private:
    struct Answer {
        std::optional<HostFacts> facts;
        std::string failure;
        bool known = false;  // also for nodes behind a host that failed
        std::size_t behind = 0;
    };

    // Problems with their nodes: the same problem on several hosts is reported once.
    using Grouped = std::vector<std::pair<std::string, std::vector<int>>>;
    Grouped group() const;
    std::string failed_attempts(const std::vector<int>& tried) const;
    std::string names_of(const std::vector<int>& nodes) const;
    std::string cite(const std::vector<int>& nodes) const;
    std::vector<config::HostFacts> parsed(std::vector<std::string>& problems) const;
    std::vector<config::MachineFault> machine_faults(std::vector<std::string>& problems) const;

    const Job& job_;
    std::vector<Answer> answers_;
    int open_;
};

}  // namespace torusmp::torus_run
