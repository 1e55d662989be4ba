// SPDX-License-Identifier: BSD-3-Clause
// Spanning trees over a torus or open mesh, along which collectives send their messages.
//
// A tree gives each rank its parent and the link from it. The same arguments give the same tree on
// every rank, so all ranks of a collective compute the same trees independently. An *arc* is one
// direction of one cable, (from, direction); both cables of a ring of two are arcs of their own.
// Pure values, owned by the caller; any thread may call.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// All three arrays are indexed by rank.
struct SpanningTree {
    Rank root = 0;
    std::vector<Rank> parent;     // the root is its own parent
    std::vector<std::int8_t> by;  // Direction::index() of the step parent -> rank; root: -1
    std::vector<int> depth;       // steps from the root

    int height() const;  // the largest depth
    // The children of a rank and the directions in which they lie, by rank. O(size).
    std::vector<Hop> children(Rank rank) const;
};

// Shortest paths, each along the dimensions in their order: the root's line along dimension 0, then
// the lines along dimension 1 from each of these, and so on. A rank's depth is its distance.
SpanningTree dimension_ordered_tree(const Torus& torus, Rank root);

// Trees no two of which share an arc, so that all may carry messages in parallel. Their number is
// disjoint_tree_count(torus); a single rank has none. No path is longer than the sum of the
// extents, and on up to some hundreds of ranks the longest is not much above the largest distance:
// 14 links on 4x8x8, where the largest distance is 10.
std::vector<SpanningTree> disjoint_trees(const Torus& torus, Rank root);

// Two for each periodic dimension and one for each open one, not counting extents of 1; if there
// are open dimensions (of extent 2 or more), a periodic one of extent 2 counts as one. This is the
// maximum, namely the number of arcs that enter a corner, except for those rings of two.
int disjoint_tree_count(const Torus& torus);

// Shortest paths whose arcs are spread over the directions as evenly as possible, among the ranks
// of each depth: if every rank of a torus is the root of such a tree, shifted to it, all links
// carry the same load at step t. (On an open mesh the trees of two roots differ.)
SpanningTree arc_balanced_tree(const Torus& torus, Rank root = 0);

}  // namespace torusmp::routing
