// SPDX-License-Identifier: BSD-3-Clause
#include "routing/pair_path.h"

#include <catch2/catch.hpp>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

// Follows the steps. Each step uses a link and comes nearer, so the path cannot loop.
Direction walk(const Torus& torus, Rank from, Rank to, Direction entrance) {
    Rank at = from;
    Direction last{};
    while (at != to) {
        const Hop hop = next_hop_into(torus, at, to, entrance);
        REQUIRE(torus.neighbour(at, hop.direction) == hop.rank);
        REQUIRE(torus.distance(hop.rank, to) == torus.distance(at, to) - 1);
        at = hop.rank;
        last = hop.direction;
    }
    return last.opposite();  // out of `to`
}

}  // namespace

TEST_CASE(
    "packets between two nodes use the same links at both ends, over shortest paths both ways") {
    const int seed = GENERATE(range(0, 40));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 60).torus();
    CAPTURE(torus.describe());
    for (Rank a = 0; a < torus.size(); ++a)
        for (Rank b = 0; b < torus.size(); ++b) {
            if (a == b) continue;
            CAPTURE(a, b);
            const Direction out = pair_direction(torus, a, b);
            const Direction in = pair_direction(torus, b, a);
            REQUIRE(next_hop_into(torus, a, b, in).direction == out);
            REQUIRE(walk(torus, a, b, in) == in);
        }
}

TEST_CASE(
    "packets reach every link's address from everywhere, over that link if it lies on a shortest "
    "path") {
    const int seed = GENERATE(range(0, 40));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 60).torus();
    CAPTURE(torus.describe());
    for (Rank a = 0; a < torus.size(); ++a)
        for (Rank b = 0; b < torus.size(); ++b)
            for (int i = 0; i < 2 * torus.dimensions(); ++i) {
                const auto entrance = Direction::from_index(i);
                const auto before = torus.neighbour(b, entrance);
                if (a == b || !before) continue;
                CAPTURE(a, b, i);
                const Direction entered = walk(torus, a, b, entrance);
                if (torus.distance(a, *before) + 1 == torus.distance(a, b))
                    REQUIRE(entered == entrance);
            }
}

TEST_CASE("the connection of two nodes goes along the path of the lower one") {
    const Torus torus(std::vector{4, 4});
    // Two steps in each dimension: dimension 0 first, and up on a tie.
    const Rank far = torus.rank({2, 2});
    CHECK(pair_direction(torus, 0, far) == Direction{0, +1});
    CHECK(pair_direction(torus, far, 0) == Direction{1, -1});
    // The two cables of a ring of two.
    const Torus two(std::vector{2});
    CHECK(pair_direction(two, 0, 1) == pair_direction(two, 1, 0).opposite());
}
