// SPDX-License-Identifier: BSD-3-Clause
// Assigns the ranks of the machine to the places of a program's grid or graph, so that neighbours
// there are near each other in the torus. Front ends use this when a program allows the ranks to be
// reordered.
//
// Everything depends only on the arguments, and the work is bounded by counts, not by time, so all
// ranks compute the same answer independently. Places of grids are row-major, the last dimension
// fastest. Pure; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "routing/embedding.h"
#include "routing/torus.h"

namespace torusmp::routing {

// A grid as declared by a program: any number of dimensions, one flag each.
struct Grid {
    std::vector<int> extents;
    std::vector<bool> periodic;
    std::int64_t places() const;
};

// The distances between neighbours of the grid when place i lies on ranks[i].
Dilation dilation_of(const Grid& grid, std::span<const Rank> ranks, const Torus& machine);
// The distances between neighbours along one dimension only.
Dilation dilation_along(const Grid& grid, int dimension, std::span<const Rank> ranks,
                        const Torus& machine);
// Whether `a` is better: first by the longest distance, then by the mean.
bool closer(const Dilation& a, const Dilation& b);

// The same ranks in an order that brings neighbours closer than `ranks` does, for ranks that fill a
// box of the machine. Place 0 keeps its rank if possible; `first_may_move` allows orders in which
// it does not. Empty if no better order is known.
std::optional<std::vector<Rank>> place_closer(const Grid& grid, std::span<const Rank> ranks,
                                              const Torus& machine, bool first_may_move);

// A rank for each place, chosen from `candidates`, which are at least as many as the places. In the
// order of the candidates if no better order is known.
std::vector<Rank> place_grid(const Grid& grid, std::span<const Rank> candidates,
                             const Torus& machine);

// Vertices that exchange data, and how much.
struct Traffic {
    int a = 0, b = 0;
    std::int64_t weight = 1;  // at least 0
};

// A rank for each of the vertices 0 to `vertices` - 1 of a graph, with a low sum of weight × hops
// over all edges: at most the sum in the candidates' own order.
std::vector<Rank> place_graph(int vertices, std::span<const Traffic> edges,
                              std::span<const Rank> candidates, const Torus& machine);
// The sum that place_graph() minimizes.
std::int64_t hops_of(std::span<const Traffic> edges, std::span<const Rank> ranks,
                     const Torus& machine);

}  // namespace torusmp::routing
