// SPDX-License-Identifier: BSD-3-Clause
#include "routing/ways.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace torusmp::routing {

std::vector<Direction> first_directions(const Torus& torus, Rank from, Rank to) {
    std::vector<Direction> directions;
    const int whole = torus.distance(from, to);
    for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
        const Direction direction = Direction::from_index(i);
        const auto next = torus.neighbour(from, direction);
        const bool leads = torus.graph() != nullptr ? torus.graph()->may_begin(from, direction, to)
                                                    : next && torus.distance(*next, to) == whole - 1;
        if (leads) directions.push_back(direction);
    }
    if (const auto hop = torus.next_hop(from, to)) {
        const auto usual = std::find(directions.begin(), directions.end(), hop->direction);
        TORUSMP_ASSERT(usual != directions.end(), from, to, directions.size());
        std::rotate(directions.begin(), usual, usual + 1);
    }
    return directions;
}

std::vector<Hop> path_by(const Torus& torus, Rank from, Rank to, Direction first) {
    std::vector<Hop> hops;
    if (torus.graph() != nullptr) {
        const Rank next = *torus.neighbour(from, first);
        hops = torus.path(next, to);
        hops.insert(hops.begin(), Hop{first, next});
        return hops;
    }
    const int end = torus.coordinates(to)[std::size_t(first.dimension)];
    Rank here = from;
    while (torus.coordinates(here)[std::size_t(first.dimension)] != end) {
        here = *torus.neighbour(here, first);
        hops.push_back({first, here});
    }
    const auto rest = torus.path(here, to);
    hops.insert(hops.end(), rest.begin(), rest.end());
    TORUSMP_ASSERT(hops.empty() || hops.back().rank == to, from, to, hops.size());
    return hops;
}

}  // namespace torusmp::routing
