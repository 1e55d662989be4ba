// SPDX-License-Identifier: BSD-3-Clause
// Which rank of the machine takes which place of a program's grid or graph, so that neighbours
// there are near each other in the torus. Front ends ask here when a program leaves the numbering
// to us.
//
// Everything depends only on the arguments, and the work is bounded by counts, not by time, so all
// ranks reach the same answer by themselves. Places of grids are row-major, the last dimension
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

// A grid as programs declare it: any number of dimensions, one flag each.
struct Grid {
    std::vector<int> extents;
    std::vector<bool> periodic;
    std::int64_t places() const;
};

// How far apart neighbours of the grid are when place i lies on ranks[i].
Dilation dilation_of(const Grid& grid, std::span<const Rank> ranks, const Torus& machine);
// Of the neighbours along one dimension only.
Dilation dilation_along(const Grid& grid, int dimension, std::span<const Rank> ranks,
                        const Torus& machine);
// Whether one is better: first by the longest distance, then by the mean.
bool closer(const Dilation& a, const Dilation& b);

// The same ranks in an order that brings neighbours closer than `ranks` does, for ranks that fill a
// box of the machine. Place 0 stays where it is if possible; if not, `first_may_move` says whether
// that matters. Nothing if no better order is known.
std::optional<std::vector<Rank>> place_closer(const Grid& grid, std::span<const Rank> ranks,
                                              const Torus& machine, bool first_may_move);

// A rank for each place out of `candidates`, of which there are at least as many as places. In the
// order of the candidates if that is as good as anything else we know.
std::vector<Rank> place_grid(const Grid& grid, std::span<const Rank> candidates,
                             const Torus& machine);

// Vertices that talk to each other, and how much.
struct Traffic {
    int a = 0, b = 0;
    std::int64_t weight = 1;  // 0 and more
};

// The same for the vertices 0 to `vertices` - 1 of a graph: a low sum of weight × hops over all
// edges. Never higher than that of the candidates' own order.
std::vector<Rank> place_graph(int vertices, std::span<const Traffic> edges,
                              std::span<const Rank> candidates, const Torus& machine);
// The sum that it minimizes.
std::int64_t hops_of(std::span<const Traffic> edges, std::span<const Rank> ranks,
                     const Torus& machine);

}  // namespace torusmp::routing
