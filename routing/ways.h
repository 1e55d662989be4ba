// SPDX-License-Identifier: BSD-3-Clause
// The shortest paths between two ranks over which large messages are spread, identified by the
// direction of their first step. Each path continues in its first dimension until that is finished,
// and then takes the dimension with the fewest remaining steps, so it crosses each dimension at most
// once.
//
// Ties are decided by the last step: the next dimension in cyclic order follows, and if both
// directions are equally short, the sign stays the same. So the paths from all ranks to one rank end
// on all of its links, where a fixed order would lead them together on the last dimension's.
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

// The step that follows a step in direction `last` to `here`. Precondition: here != to, and the
// packet has come nearer with each step.
Direction direction_after(const Torus& torus, Rank here, Rank to, Direction last);

// The path that begins with `first`, which must be one of first_directions().
std::vector<Hop> path_by(const Torus& torus, Rank from, Rank to, Direction first);
// The path of all that is not spread. It begins by shortest direction first. Empty if from == to.
std::vector<Hop> usual_path(const Torus& torus, Rank from, Rank to);

}  // namespace torusmp::routing
