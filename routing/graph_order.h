// SPDX-License-Identifier: BSD-3-Clause
// Orders the nodes of a graph for their numbering as ranks, and finds the cable that would shorten
// its paths most. Pure functions; any thread may call.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// An order of the nodes in which each is near the one before it, and the last is near the first. If
// a walk that only follows cables is found, the order is that walk. It begins with node 0.
// Precondition: the cables join all nodes.
std::vector<int> nearby_order(int size, std::span<const std::pair<int, int>> cables);

// The mean distance between two different ranks, in hops; 0 if there is only one rank.
double mean_distance(const Torus& torus);

// A cable that the machine does not have, and the mean distance with it.
struct Shortening {
    Rank a = 0, b = 0;
    double mean = 0.0;
};
// The cable that shortens the mean distance most. Nullopt if none does, or if the machine has more
// than 64 ranks: the work grows with the fourth power of their number.
std::optional<Shortening> best_cable(const Torus& torus);

}  // namespace torusmp::routing
