// SPDX-License-Identifier: BSD-3-Clause
#include "routing/pair_path.h"

namespace torusmp::routing {

Direction pair_direction(const Torus& torus, Rank here, Rank there) {
    if (here < there) return torus.next_hop(here, there)->direction;
    return torus.path(there, here).back().direction.opposite();
}

Hop next_hop_into(const Torus& torus, Rank at, Rank there, Direction entrance) {
    const auto step = [&](Direction direction) {
        return Hop{direction, *torus.neighbour(at, direction)};
    };
    if (pair_direction(torus, there, at) == entrance) return step(pair_direction(torus, at, there));
    const Rank before = *torus.neighbour(there, entrance);
    if (at == before) return step(entrance.opposite());
    if (torus.distance(at, before) + 1 == torus.distance(at, there))
        return *torus.next_hop(at, before);
    return *torus.next_hop(at, there);
}

}  // namespace torusmp::routing
