// SPDX-License-Identifier: BSD-3-Clause
#include "routing/ways.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

TEST_CASE("every way is a shortest path that crosses each dimension at most once") {
    const int seed = GENERATE(range(0, 60));
    Random random{std::uint32_t(seed)};
    const Shape shape = random_shape(random, 150);
    const Torus torus = shape.torus();
    CAPTURE(torus.describe());
    for (int n = 0; n < 40; ++n) {
        const Rank from = Rank(random() % unsigned(torus.size()));
        const Rank to = Rank(random() % unsigned(torus.size()));
        const auto firsts = first_directions(torus, from, to);
        REQUIRE(firsts.empty() == (from == to));
        if (!firsts.empty()) REQUIRE(firsts.front() == torus.next_hop(from, to)->direction);
        std::set<int> seen;
        for (const Direction first : firsts) {
            CAPTURE(from, to, first.dimension, first.sign);
            REQUIRE(seen.insert(first.index()).second);
            const auto path = path_by(torus, from, to, first);
            REQUIRE(path.front().direction == first);
            REQUIRE(path.back().rank == to);
            REQUIRE(int(path.size()) == torus.distance(from, to));
            Rank here = from;
            std::set<int> finished;
            int dimension = first.dimension;
            for (const Hop& hop : path) {
                REQUIRE(torus.neighbour(here, hop.direction) == hop.rank);
                if (hop.direction.dimension != dimension) finished.insert(dimension);
                dimension = hop.direction.dimension;
                REQUIRE(finished.count(dimension) == 0);
                here = hop.rank;
            }
        }
        // None is missing: a first step is one exactly where it comes nearer.
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const auto next = torus.neighbour(from, Direction::from_index(i));
            const bool nearer = next && torus.distance(*next, to) == torus.distance(from, to) - 1;
            REQUIRE(nearer == (seen.count(i) == 1));
        }
    }
}

TEST_CASE("both cables of a ring of two are ways to the neighbour") {
    const Torus torus(std::vector{2, 3});
    const auto ways = first_directions(torus, 0, torus.rank({1, 0}));
    CHECK(ways == std::vector<Direction>{{0, +1}, {0, -1}});
}

TEST_CASE("a diagonal neighbour has a path through each of the two neighbours between") {
    const Torus torus(std::vector{4, 4});
    const Rank to = torus.rank({1, 1});
    const auto ways = first_directions(torus, 0, to);
    REQUIRE(ways.size() == 2);
    CHECK(path_by(torus, 0, to, ways[0]).front().rank !=
          path_by(torus, 0, to, ways[1]).front().rank);
}

namespace {

// The load of each link of a rank as the last link of a path, when all other ranks send it the
// same, evenly over all of their paths.
std::vector<double> entrances(const Torus& torus, Rank to) {
    std::vector<double> loads(std::size_t(2 * torus.dimensions()));
    for (Rank from = 0; from < torus.size(); ++from) {
        const auto firsts = first_directions(torus, from, to);
        for (const Direction first : firsts) {
            const Direction last = path_by(torus, from, to, first).back().direction;
            loads[std::size_t(last.opposite().index())] += 1.0 / double(firsts.size());
        }
    }
    return loads;
}

}  // namespace

TEST_CASE("packets from all to one rank arrive on all of its links, evenly in equal dimensions") {
    const auto [dims, least] = GENERATE(table<std::vector<int>, double>({{{2, 2, 2}, 1},
                                                                         {{3, 3, 3}, 1},
                                                                         {{4, 4, 4}, 1},
                                                                         {{2, 2}, 1},
                                                                         {{4, 4}, 1},
                                                                         {{3, 3, 2}, 0.45},
                                                                         {{4, 2, 2}, 0.4}}));
    const Torus torus(dims);
    CAPTURE(torus.describe());
    for (Rank to = 0; to < torus.size(); to += 3) {
        const std::vector<double> loads = entrances(torus, to);
        const auto [low, high] = std::minmax_element(loads.begin(), loads.end());
        CHECK(*low / *high == Approx(least).margin(least == 1 ? 1e-9 : 0.1));
    }
}

TEST_CASE("only the last step decides the next one") {
    const Torus torus(std::vector{3, 3, 2});
    const Rank to = torus.rank({0, 0, 0});
    const Rank corner = torus.rank({1, 1, 1}), edge = torus.rank({0, 1, 1});
    const auto last = [&](Rank from, Direction first) {
        return path_by(torus, from, to, first).back().direction;
    };
    CHECK(last(corner, {0, -1}) == Direction{2, -1});  // dimensions 0, 1, 2
    CHECK(last(corner, {1, -1}) == Direction{0, -1});  // 1, 2, 0
    CHECK(last(corner, {2, +1}) == Direction{1, -1});  // 2, 0, 1
    // Half around a ring of two: the cable of the sign that the packet has had.
    CHECK(last(edge, {1, -1}) == Direction{2, -1});
    CHECK(last(torus.rank({0, 2, 1}), {1, +1}) == Direction{2, +1});
}
