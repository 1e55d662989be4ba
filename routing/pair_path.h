// SPDX-License-Identifier: BSD-3-Clause
// The path between two nodes that talk to each other directly through the nodes in between, which
// only forward: one path for both directions of traffic, because each end of such a connection
// lives on one device, for what it sends and for what it receives.
//
// It is the shortest-direction-first path from the node with the lower number. Pure functions; any
// thread may call.
#pragma once

#include "routing/torus.h"

namespace torusmp::routing {

// The link by which the connection of `here` to `there` goes. Precondition: two different nodes.
Direction pair_direction(const Torus& torus, Rank here, Rank there);

// The next step of packets at `at` for the link `entrance` of the node `there`, by which they have
// to come in. Each step comes nearer. From every node whose connection with `there` ends on that
// link packets leave by pair_direction() and come in by it; so they do wherever a shortest path
// does, and else they come to `there` by another link. Precondition: two different nodes, and
// `there` has that link.
Hop next_hop_into(const Torus& torus, Rank at, Rank there, Direction entrance);

}  // namespace torusmp::routing
