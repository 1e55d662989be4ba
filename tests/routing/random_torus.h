// SPDX-License-Identifier: BSD-3-Clause
// Random tori and logical grids for property tests, the same for the same seed on every machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing::test {

using Random = std::mt19937;

// Inclusive. Not a standard distribution: those differ between libraries.
inline int between(Random& random, int low, int high) {
    return low + int(random() % std::uint32_t(high - low + 1));
}

struct Shape {
    std::vector<int> extents;
    std::vector<bool> periodic;
    Torus torus() const { return Torus(extents, periodic); }
};

// 1 to 6 dimensions, each open or periodic; small extents are the common ones, because sizes 1, 2
// and 3 are the special ones.
inline Shape random_shape(Random& random, int max_size) {
    Shape shape;
    int room = max_size;
    const int dimensions = between(random, 1, max_dimensions);
    for (int d = 0; d < dimensions; ++d) {
        const int limit = std::min(room, between(random, 0, 2) == 0 ? 12 : 5);
        shape.extents.push_back(between(random, 1, limit));
        shape.periodic.push_back(between(random, 0, 2) != 0);
        room /= shape.extents.back();
    }
    // Otherwise the later extents, which have less room, would always be the small ones.
    for (int d = dimensions - 1; d > 0; --d) {
        std::swap(shape.extents[std::size_t(d)], shape.extents[std::size_t(between(random, 0, d))]);
    }
    return shape;
}

// A grid of as many places: the prime factors dealt out at random.
inline Shape random_grid(Random& random, int places) {
    Shape grid;
    const int dimensions = between(random, 1, 10);
    grid.extents.assign(std::size_t(dimensions), 1);
    for (int d = 0; d < dimensions; ++d) grid.periodic.push_back(between(random, 0, 3) != 0);
    for (int prime = 2; places > 1; ++prime) {
        for (; places % prime == 0; places /= prime) {
            grid.extents[std::size_t(between(random, 0, dimensions - 1))] *= prime;
        }
    }
    return grid;
}

}  // namespace torusmp::routing::test
