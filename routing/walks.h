// SPDX-License-Identifier: BSD-3-Clause
// Walks: orders in which a line or ring of logical places visits a box of physical ones, each once.
//
// A logical dimension is laid over pieces of physical dimensions. A piece counts `extent` places,
// `weight` physical steps apart, of one dimension; an unsplit dimension is one piece of weight 1.
// The pieces of one logical dimension span a box, and the walk gives the place of the box for
// logical coordinate 0, 1, 2, ... Internal to routing. Pure functions over values; any thread.
#pragma once

#include <span>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

struct Piece {
    int dimension = 0;  // of the physical torus
    int extent = 1;
    int weight = 1;
    bool closed = false;  // the step from the last place to the first also costs `weight`
    friend bool operator==(const Piece&, const Piece&) = default;
    friend auto operator<=>(const Piece&, const Piece&) = default;
};

// The offset that each step of the walk adds to the physical coordinates. Starts at zero.
using Walk = std::vector<Coordinates>;

// The walks worth comparing for a logical dimension over these pieces (each of extent 2 or more):
// for an open dimension a snake, for a ring every known closed walk. Never empty.
std::vector<Walk> candidate_walks(std::span<const Piece> pieces, bool ring);

}  // namespace torusmp::routing
