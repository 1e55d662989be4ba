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

// Which child of the daemon of node `from` (-1: the head) is on the way to `to`; nothing: `to` is
// not below it. `parents` for each node the one that starts its daemon.
std::optional<int> next_on_the_way(const std::vector<int>& parents, int from, int to);
// The nodes below `node`, including itself.
std::vector<int> subtree_of(const std::vector<int>& parents, int node);

// Whether `node` is joined to the head although `missing` nodes are not joined to their parents.
bool is_reached(const std::vector<int>& parents, const std::vector<int>& missing, int node);

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

    // ---- while ranks run ----

    // The connection from its parent to a daemon that runs is lost; or, `by_this_way` false, it
    // could not be made anew. parents() has another way to it then, which may begin at any of the
    // nodes behind it, unless all were tried in vain.
    void cut_off(int node, bool by_this_way);
    // A cable that was tried in vain may be back. True: parents() has ways to some that had none.
    bool try_again();
    // Its new parent has reached it.
    void joined(int node);
    // It is lost for good, and with it those that are still behind it.
    void give_up(int node);
    bool is_lost(int node) const { return lost_.count(node) != 0; }
    // Nodes to be joined by their parents.
    std::vector<int> to_join() const;
    bool is_missing(int node) const { return missing_.count(node) != 0; }
    // Whether the connection from its parent is missing, or one on the way to it.
    bool is_cut_off(int node) const;

  private:
    bool begun(int node) const;
    bool barred(int a, int b) const {
        return barred_.count({a, b}) != 0 || barred_.count({b, a}) != 0;
    }
    std::optional<int> way_to(int node, const std::vector<bool>& reached) const;
    void adopt(int node, int parent, std::vector<bool>& reached);
    void enter(std::optional<int> by_another_way);

    std::vector<int> parents_;
    const std::optional<routing::Torus> nodes_;
    std::vector<bool> up_;
    std::set<std::pair<int, int>> barred_;  // parent and child
    std::set<int> missing_;                 // nodes whose connection to their parent is missing
    std::set<int> no_way_;                  // nodes to whom no way is left to try
    std::set<int> lost_;                    // for good
};

}  // namespace torusmp::launch
