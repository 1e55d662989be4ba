// SPDX-License-Identifier: BSD-3-Clause
// The shortest paths between two ranks over which large messages are spread, identified by the
// direction of their first step. Each path continues in its first dimension until that is finished,
// and by shortest direction first from there, so it crosses each dimension at most once.
//
// Pure functions; any thread may call.
#pragma once

#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// The first steps of shortest paths: for each dimension in which the two ranks differ the shorter
// direction, or both if they are equally long (half around a ring, and the two cables of a ring of
// two). The first step of shortest direction first comes first.
std::vector<Direction> first_directions(const Torus& torus, Rank from, Rank to);

// The path that begins with `first`, which must be one of first_directions().
std::vector<Hop> path_by(const Torus& torus, Rank from, Rank to, Direction first);

}  // namespace torusmp::routing
