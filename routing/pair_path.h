// SPDX-License-Identifier: BSD-3-Clause
// The path of a direct connection between two nodes, which the nodes in between only forward: one
// path for both directions of traffic, because each end of such a connection sends and receives on
// a single device.
//
// It is the shortest-direction-first path from the node with the lower number. Pure functions; any
// thread may call.
#pragma once

#include "routing/torus.h"

namespace torusmp::routing {

// The link used by the connection from `here` to `there`. Precondition: two different nodes.
Direction pair_direction(const Torus& torus, Rank here, Rank there);

// The next step of packets at `at` for the link `entrance` of the node `there`. Each step comes
// nearer. From a node whose connection with `there` ends on that link, packets leave by
// pair_direction() and arrive through `entrance`; from other nodes they arrive through it if a
// shortest path does, and otherwise through another link. Precondition: two different nodes, and
// `there` has that link.
Hop next_hop_into(const Torus& torus, Rank at, Rank there, Direction entrance);

}  // namespace torusmp::routing
