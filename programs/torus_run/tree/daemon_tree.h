// SPDX-License-Identifier: BSD-3-Clause
// The tree by which daemons are started and reached. Where the torus is the only network, a daemon
// is started over a cable by its neighbour. If the cable fails, another neighbour starts it, and
// the nodes behind it get other paths too.
//
// Pure bookkeeping. Owned by the head and used by its one thread.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "routing/torus.h"

namespace torusmp::torus_run {

// The child of node `from` (-1 for the head) on the path to `to`; nothing if `to` is not below
// `from`. `parents` holds for each node the node that starts its daemon.
std::optional<int> next_on_the_way(const std::vector<int>& parents, int from, int to);
// The nodes below `node`, including itself.
std::vector<int> subtree_of(const std::vector<int>& parents, int node);

// Whether `node` is connected to the head although the `missing` nodes are cut off from their
// parents.
bool is_reached(const std::vector<int>& parents, const std::vector<int>& missing, int node);

class DaemonTree {
  public:
    // `parents` holds for each node the node that starts its daemon, -1 for the head. `nodes` is
    // the torus if daemons are started over its cables; otherwise there is one path to each.
    DaemonTree(std::vector<int> parents, std::optional<routing::Torus> nodes);

    const std::vector<int>& parents() const { return parents_; }

    // The daemon of `node` runs, and starts its own children.
    void greeted(int node);
    bool has_greeted(int node) const { return up_[std::size_t(node)]; }
    // The daemon of a node could not be started by its parent. Returns true if parents() has
    // another path to it, false if none is left. In both cases other nodes may have new parents.
    bool failed(int node);
    // The nodes that are reached through `node`, as far as it is reached itself.
    std::vector<int> behind(int node) const;
    // The nodes that tried in vain to start it, except the last one.
    std::vector<int> others_that_tried(int node) const;

    // ---- while ranks run ----

    // The connection between a running daemon and its parent is lost, or, if `by_this_way` is
    // false, could not be made again. parents() then has another path, which may start at any of
    // the nodes behind it, unless all were tried.
    void cut_off(int node, bool by_this_way);
    // Retries cables that failed, because they may be back. Returns true if parents() has new
    // paths.
    bool try_again();
    // The new parent of `node` has reached it.
    void joined(int node);
    // Marks a node as lost for good, together with the nodes still behind it.
    void give_up(int node);
    bool is_lost(int node) const { return lost_.count(node) != 0; }
    // The nodes to be joined by their parents.
    std::vector<int> to_join() const;
    bool is_missing(int node) const { return missing_.count(node) != 0; }
    // Whether the connection to its parent is missing, or any other on the path to it.
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
    std::set<int> no_way_;                  // nodes without an untried path
    std::set<int> lost_;                    // for good
};

}  // namespace torusmp::torus_run
