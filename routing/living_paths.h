// SPDX-License-Identifier: BSD-3-Clause
// The paths of packets over the ranks that are left when others have died: up*/down* routes
// (routing/graph.h) that never turn from down to up, so packets need a single virtual channel and
// cannot deadlock.
//
// All ranks that know the same deaths compute the same paths. A plain value, immutable; any thread.
#pragma once

#include <optional>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

class LivingPaths {
  public:
    // `dead` by rank. The paths join the living ranks that `self` reaches over living ranks.
    // Precondition: `self` lives, and the torus has at most max_graph_ranks ranks.
    LivingPaths(const Torus& torus, const std::vector<bool>& dead, Rank self);

    // Whether there is a path between the two, there and back.
    bool joins(Rank a, Rank b) const { return knows(a) && knows(b); }
    // Empty if from == to, or nothing joins them.
    std::optional<Hop> next_hop(Rank from, Rank to) const;
    std::vector<Hop> path(Rank from, Rank to) const;

  private:
    bool knows(Rank rank) const { return number_[std::size_t(rank)] >= 0; }

    std::vector<int> number_;  // in the graph, by rank; -1 if it is dead or in another part
    std::vector<Rank> by_number_;
    std::optional<Graph> graph_;  // empty if `self` reaches no other rank
};

}  // namespace torusmp::routing
