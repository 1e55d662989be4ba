// Whether every host is ready before any rank starts, and if not, everything that is wrong, in one
// message. Pure bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/network.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

class Preflight {
  public:
    // `parents` as in HostOrder. `job` must outlive this.
    Preflight(const Job& job, std::vector<int> parents);

    void answered(int node, HostFacts facts);
    // It will not answer, nor will those that are reached through it; `why` completes "host qcd001
    // ...".
    void failed(int node, const std::string& why);
    bool complete() const { return open_ == 0; }
    // Whether several hosts are namespaces of one machine: each sees all of its processors.
    bool share_a_machine() const;
    // Empty: nothing is wrong. Precondition: complete().
    std::string what_is_wrong() const;

  private:
    struct Answer {
        std::optional<HostFacts> facts;
        std::string failure;
        bool known = false;  // also for those behind a host that failed
    };

    // The same problem on several hosts is reported once.
    using Grouped = std::vector<std::pair<std::string, std::vector<int>>>;
    Grouped group() const;
    std::string cite(const std::vector<int>& nodes) const;
    std::vector<config::HostFacts> parsed(std::vector<std::string>& problems) const;
    void add_machine_problems(std::vector<std::string>& problems) const;

    const Job& job_;
    const std::vector<int> parents_;
    std::vector<Answer> answers_;
    int open_;
};

}  // namespace torusmp::launch
