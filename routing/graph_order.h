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

// An order in which each node is near the one before, and the last near the first; a walk along
// cables only, if one is found. It begins with node 0. Precondition: the cables join all nodes.
std::vector<int> nearby_order(int size, std::span<const std::pair<int, int>> cables);

// The mean distance of two different ranks, in hops; 0 for a single one.
double mean_distance(const Torus& torus);

// A cable that the machine does not have, and the mean distance with it.
struct Shortening {
    Rank a = 0, b = 0;
    double mean = 0.0;
};
// The cable that shortens the mean distance most; empty if none does, or if the machine has more
// than 64 ranks, since the work grows with their fourth power.
std::optional<Shortening> best_cable(const Torus& torus);

}  // namespace torusmp::routing
