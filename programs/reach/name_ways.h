// SPDX-License-Identifier: BSD-3-Clause
// Selects the host that starts the daemon of each host while the topology is unknown: each host
// that has been reached tries the unreached hosts in turn, by their names.
//
// Pure bookkeeping; used by one thread.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace torusmp::reach {

class NameWays {
  public:
    // `start` is this host, or -1 if it is not one of them; then it tries all by itself first.
    NameWays(int hosts, int start);

    // The host that starts the daemon of each host (-1 for this process). No host starts the daemon
    // of `start`, or of hosts that wait until another host is reached.
    const std::vector<int>& parents() const { return parents_; }

    // Records that its daemon runs and may start others.
    void greeted(int host);
    // Records that its parent could not start it.
    void failed(int host);
    // Records that the host and all hosts behind it are unreachable.
    std::vector<int> lost(int host);
    // Hosts that could not be reached, once no attempt is in progress.
    std::vector<int> unreached() const;

  private:
    void find_parents();

    static constexpr int no_parent = -2;
    std::vector<int> parents_;
    std::vector<int> reached_;             // in this order; the latest tries first
    std::set<std::pair<int, int>> tried_;  // parent and child
};

}  // namespace torusmp::reach
