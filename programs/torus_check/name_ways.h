// SPDX-License-Identifier: BSD-3-Clause
// Who starts the daemon of which host while nobody knows how the hosts are joined: each host that
// has been reached tries those that have not, one after the other, by their names.
//
// Pure bookkeeping; used by one thread.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace torusmp::check {

class NameWays {
  public:
    // `start`: this host; -1: it is none of them, and tries all by itself first.
    NameWays(int hosts, int start);

    // For each host the one that starts its daemon (-1: this process itself); nobody does for
    // `start`, nor for those that wait until another host is reached.
    const std::vector<int>& parents() const { return parents_; }

    // Its daemon runs, and may start others.
    void greeted(int host);
    // It could not be started by its parent.
    void failed(int host);
    // It, and what lies behind it, is reached no more.
    std::vector<int> lost(int host);
    // Hosts that nobody could reach, once no attempt is under way: nothing more will happen.
    std::vector<int> unreached() const;

  private:
    void find_parents();

    static constexpr int nobody = -2;
    std::vector<int> parents_;
    std::vector<int> reached_;             // in this order; the latest tries first
    std::set<std::pair<int, int>> tried_;  // parent and child
};

}  // namespace torusmp::check
