// SPDX-License-Identifier: BSD-3-Clause
// The optimal scatter and gather of a torus or open mesh (OPT): the link of the root that serves
// each rank, the path, and the order.
//
// The ranks are split into as many regions as the root has links, both cables of a ring of two
// counted. All messages to a region leave by its link and run down one tree inside it, along
// shortest paths. Regions have no rank in common, so their trees have no arc in common; within a
// region each link is fed by one other, so messages that leave the root one by one never meet
// again, and none ever waits. The furthest destination goes first, so that the last message has the
// shortest path. After J. Chen, W. Watson III, R. Edwards and W. Mao, "Message Passing for Linux
// Clusters with Gigabit Ethernet Mesh Connections", IPDPS 2005 Workshops.
//
// The same arguments give the same partition on every rank. A value, owned by the caller; any
// thread may call.
#pragma once

#include <vector>

#include "routing/trees.h"

namespace torusmp::routing {

struct Partition {
    Rank root = 0;
    std::vector<Direction> first;          // the link by which the root serves each region
    std::vector<std::vector<Rank>> order;  // the ranks of each region in sending order
    std::vector<int> region;               // by rank; -1 for the root
    // All regions as one tree. If the root's neighbour in a ring of two is the gate of the regions
    // of both cables, it has the children of both regions and belongs to one of them itself.
    SpanningTree tree;

    // The path from the root; it begins with the link of the rank's region.
    std::vector<Hop> path(Rank rank) const;
};

// Region sizes differ by at most one if such a partition was found: on all tori and meshes except a
// few with small extents or a root near an edge. Paths are always shortest paths. O(size) on nearly
// all.
Partition optimal_partition(const Torus& torus, Rank root);

}  // namespace torusmp::routing
