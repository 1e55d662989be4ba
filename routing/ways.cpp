// SPDX-License-Identifier: BSD-3-Clause
#include "routing/ways.h"

#include <algorithm>
#include <cstdlib>
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

Direction direction_after(const Torus& torus, Rank here, Rank to, Direction last) {
    TORUSMP_ASSERT(here != to, here, to);
    if (torus.graph() != nullptr) return torus.next_hop(here, to)->direction;
    if (torus.offset(here, to, last.dimension) != 0) return last;
    int chosen = last.dimension, way = 0;
    for (int i = 1; i < torus.dimensions(); ++i) {
        const int d = (last.dimension + i) % torus.dimensions();
        const int steps = torus.offset(here, to, d);
        if (steps == 0 || (way != 0 && std::abs(steps) >= std::abs(way))) continue;
        chosen = d;
        way = steps;
    }
    const bool both = torus.periodic(chosen) && 2 * std::abs(way) == torus.extent(chosen);
    return {chosen, both ? last.sign : way > 0 ? +1 : -1};
}

std::vector<Hop> path_by(const Torus& torus, Rank from, Rank to, Direction first) {
    std::vector<Hop> hops;
    Rank here = from;
    for (Direction next = first;; next = direction_after(torus, here, to, next)) {
        here = *torus.neighbour(here, next);
        hops.push_back({next, here});
        if (here == to) return hops;
        TORUSMP_ASSERT(torus.graph() != nullptr || int(hops.size()) < torus.distance(from, to), from,
                       to, hops.size());
    }
}

std::vector<Hop> usual_path(const Torus& torus, Rank from, Rank to) {
    const auto first = torus.next_hop(from, to);
    return first ? path_by(torus, from, to, first->direction) : std::vector<Hop>{};
}

}  // namespace torusmp::routing
