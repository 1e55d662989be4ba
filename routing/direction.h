// SPDX-License-Identifier: BSD-3-Clause
// Ranks, and the directions in which links leave them. Plain values.
#pragma once

namespace torusmp::routing {

using Rank = int;

inline constexpr int max_dimensions = 6;

// One of the up to 2·D directions out of a node: a dimension and a sign, +1 or -1.
struct Direction {
    int dimension = 0;
    int sign = +1;

    // 0+, 0-, 1+, 1-, ... numbered from 0: the port number in packets.
    constexpr int index() const { return 2 * dimension + (sign < 0 ? 1 : 0); }
    static constexpr Direction from_index(int index) {
        return {index / 2, index % 2 == 0 ? +1 : -1};
    }
    constexpr Direction opposite() const { return {dimension, -sign}; }
    friend constexpr bool operator==(const Direction&, const Direction&) = default;
};

// One step of a path: the direction taken and the rank reached.
struct Hop {
    Direction direction;
    Rank rank;
    friend constexpr bool operator==(const Hop&, const Hop&) = default;
};

}  // namespace torusmp::routing
