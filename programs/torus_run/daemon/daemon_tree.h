// SPDX-License-Identifier: BSD-3-Clause
// The tree by which daemons are started and reached. Where the torus is the only network, a daemon
// is started over a cable by its neighbour, and a cable that leads nowhere is gone around: then
// another neighbour starts it, and what lies behind it gets other ways too.
//
// Pure bookkeeping. Owned by the head and used by its one thread.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "routing/torus.h"

namespace torusmp::launch {

class DaemonTree {
  public:
    // `parents`: for each node the node that starts its daemon, -1: the head. `nodes`: the torus,
    // if daemons are started over its cables; otherwise there is one way to each.
    DaemonTree(std::vector<int> parents, std::optional<routing::Torus> nodes);

    const std::vector<int>& parents() const { return parents_; }

    // Its daemon runs, and starts those whose parent it is.
    void greeted(int node);
    bool has_greeted(int node) const { return up_[std::size_t(node)]; }
    // The daemon of a node could not be started by its parent. True: parents() has another way to
    // it; false: none is left. Either way others may have got other parents.
    bool failed(int node);
    // The nodes that are reached through a node, if it is reached at all.
    std::vector<int> behind(int node) const;
    // Those that tried in vain to start it, the last one excepted.
    std::vector<int> others_that_tried(int node) const;

  private:
    bool begun(int node) const;

    std::vector<int> parents_;
    const std::optional<routing::Torus> nodes_;
    std::vector<bool> up_;
    std::set<std::pair<int, int>> barred_;  // parent and child
};

}  // namespace torusmp::launch
