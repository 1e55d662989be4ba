// SPDX-License-Identifier: BSD-3-Clause
#include "routing/torus.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <queue>
#include <set>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;
using Catch::Matchers::Equals;

namespace {

constexpr int seeds = 60;

Shape shape_of(int seed, int max_size) {
    Random random{std::uint32_t(seed)};
    return random_shape(random, max_size);
}

// The links of a torus, found from coordinates only: an oracle that shares nothing with the code.
bool are_linked(const Torus& torus, const Coordinates& a, const Coordinates& b) {
    int differing = 0;
    bool step = false;
    for (int d = 0; d < torus.dimensions(); ++d) {
        if (a[d] == b[d]) continue;
        ++differing;
        const int apart = std::abs(a[d] - b[d]);
        step = apart == 1 || (torus.periodic(d) && apart == torus.extent(d) - 1);
    }
    return differing == 1 && step;
}

// Steps to every rank by breadth-first search over the oracle's links.
std::vector<int> flood(const Torus& torus, Rank from) {
    std::vector<int> steps(std::size_t(torus.size()), -1);
    std::queue<Rank> queue({from});
    for (steps[std::size_t(from)] = 0; !queue.empty(); queue.pop()) {
        const Rank at = queue.front();
        for (Rank to = 0; to < torus.size(); ++to) {
            if (steps[std::size_t(to)] >= 0) continue;
            if (!are_linked(torus, torus.coordinates(at), torus.coordinates(to))) continue;
            steps[std::size_t(to)] = steps[std::size_t(at)] + 1;
            queue.push(to);
        }
    }
    return steps;
}

}  // namespace

TEST_CASE("ranks are row-major with the last dimension fastest") {
    const Torus torus(std::vector{4, 8, 2});
    CHECK(torus.coordinates(0) == Coordinates{0, 0, 0});
    CHECK(torus.coordinates(1) == Coordinates{0, 0, 1});
    CHECK(torus.coordinates(2) == Coordinates{0, 1, 0});
    CHECK(torus.coordinates(16) == Coordinates{1, 0, 0});
    CHECK(torus.rank({3, 7, 1}) == 63);
    CHECK(torus.size() == 64);
}

TEST_CASE("every rank has coordinates of its own that lead back to it") {
    const Shape shape = shape_of(GENERATE(range(0, seeds)), 600);
    const Torus torus = shape.torus();
    CAPTURE(torus.describe());
    std::set<Coordinates> seen;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        const Coordinates at = torus.coordinates(rank);
        for (int d = 0; d < max_dimensions; ++d) {
            REQUIRE(at[d] >= 0);
            REQUIRE(at[d] < (d < torus.dimensions() ? torus.extent(d) : 1));
        }
        REQUIRE(torus.rank(at) == rank);
        seen.insert(at);
    }
    REQUIRE(int(seen.size()) == torus.size());
}

TEST_CASE("the neighbours are the linked ranks, and lead back by the opposite direction") {
    const Torus torus = shape_of(GENERATE(range(0, seeds)), 120).torus();
    CAPTURE(torus.describe());
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        std::set<Rank> found, expected;
        for (int port = 0; port < 2 * torus.dimensions(); ++port) {
            const Direction way = Direction::from_index(port);
            REQUIRE(way.index() == port);
            const auto next = torus.neighbour(rank, way);
            if (!next) continue;
            found.insert(*next);
            REQUIRE(torus.neighbour(*next, way.opposite()) == rank);
            const int d = way.dimension, extent = torus.extent(d);
            REQUIRE(torus.coordinates(*next)[d] ==
                    (torus.coordinates(rank)[d] + way.sign + extent) % extent);
        }
        for (Rank to = 0; to < torus.size(); ++to) {
            if (are_linked(torus, torus.coordinates(rank), torus.coordinates(to))) {
                expected.insert(to);
            }
        }
        REQUIRE(found == expected);
    }
}

TEST_CASE("a dimension of size 1 has no neighbours, wrapped or open") {
    const Torus torus(std::vector{1, 3, 1}, {true, true, false});
    for (int sign : {+1, -1}) {
        CHECK_FALSE(torus.neighbour(1, {0, sign}));
        CHECK_FALSE(torus.neighbour(1, {2, sign}));
        CHECK(torus.neighbour(1, {1, sign}) == 1 + sign);
    }
}

TEST_CASE(
    "a wrapped dimension of size 2 has the same neighbour both ways, an open one has it once") {
    const Torus torus(std::vector{2, 2}, {true, false});
    CHECK(torus.neighbour(0, {0, +1}) == 2);
    CHECK(torus.neighbour(0, {0, -1}) == 2);
    CHECK(torus.neighbour(2, {0, +1}) == 0);
    CHECK(torus.neighbour(2, {0, -1}) == 0);
    CHECK(torus.neighbour(0, {1, +1}) == 1);
    CHECK_FALSE(torus.neighbour(0, {1, -1}));
    CHECK_FALSE(torus.neighbour(1, {1, +1}));
    CHECK(torus.neighbour(1, {1, -1}) == 0);
}

TEST_CASE("a dimension that the torus does not have has no neighbours") {
    const Torus torus(std::vector{3, 3});
    CHECK_FALSE(torus.neighbour(4, {2, +1}));
    CHECK_FALSE(torus.neighbour(4, {5, -1}));
    CHECK_FALSE(torus.neighbour(4, {-1, +1}));
}

TEST_CASE("only wrapped dimensions larger than 2 are rings") {
    const Torus torus(std::vector{1, 2, 3, 3}, {true, true, true, false});
    CHECK_FALSE(torus.is_ring(0));
    CHECK_FALSE(torus.is_ring(1));
    CHECK(torus.is_ring(2));
    CHECK_FALSE(torus.is_ring(3));
}

TEST_CASE("the distance is the number of links a breadth-first search needs") {
    const Torus torus = shape_of(GENERATE(range(0, seeds)), 120).torus();
    CAPTURE(torus.describe());
    for (Rank from = 0; from < torus.size(); from += 7) {
        const std::vector<int> steps = flood(torus, from);
        for (Rank to = 0; to < torus.size(); ++to) {
            REQUIRE(torus.distance(from, to) == steps[std::size_t(to)]);
        }
    }
}

TEST_CASE("the distance is a metric") {
    const int seed = GENERATE(range(0, seeds));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 4000).torus();
    CAPTURE(torus.describe());
    const auto any = [&] { return between(random, 0, torus.size() - 1); };
    for (int trial = 0; trial < 300; ++trial) {
        const Rank a = any(), b = any(), c = any();
        REQUIRE((torus.distance(a, b) == 0) == (a == b));
        REQUIRE(torus.distance(a, b) == torus.distance(b, a));
        REQUIRE(torus.distance(a, c) <= torus.distance(a, b) + torus.distance(b, c));
    }
}

TEST_CASE(
    "the offset is the shorter way round, + if both are equally long, and one cable in a ring of "
    "two") {
    const Torus ring(std::vector{6}), line(std::vector{6}, {false});
    CHECK(ring.offset(0, 2, 0) == 2);
    CHECK(ring.offset(0, 3, 0) == 3);
    CHECK(ring.offset(3, 0, 0) == 3);
    CHECK(ring.offset(0, 4, 0) == -2);
    CHECK(ring.offset(5, 0, 0) == 1);
    CHECK(line.offset(0, 4, 0) == 4);
    CHECK(line.offset(5, 0, 0) == -5);
    const Torus pair(std::vector{2});
    CHECK(pair.offset(0, 1, 0) == 1);
    CHECK(pair.offset(1, 0, 0) == -1);  // by the same cable as there
}

TEST_CASE("the offsets lead to the target, and their lengths add up to the distance") {
    const int seed = GENERATE(range(0, seeds));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 4000).torus();
    CAPTURE(torus.describe());
    for (int trial = 0; trial < 100; ++trial) {
        const Rank from = between(random, 0, torus.size() - 1);
        const Rank to = between(random, 0, torus.size() - 1);
        Coordinates at = torus.coordinates(from);
        int steps = 0;
        for (int d = 0; d < torus.dimensions(); ++d) {
            const int offset = torus.offset(from, to, d);
            at[d] = (at[d] + offset + torus.extent(d)) % torus.extent(d);
            steps += std::abs(offset);
        }
        REQUIRE(torus.rank(at) == to);
        REQUIRE(steps == torus.distance(from, to));
    }
}

TEST_CASE(
    "a path is shortest, hops from neighbour to neighbour and finishes each dimension it enters") {
    const int seed = GENERATE(range(0, seeds));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 4000).torus();
    for (int trial = 0; trial < 100; ++trial) {
        const Rank from = between(random, 0, torus.size() - 1);
        const Rank to = between(random, 0, torus.size() - 1);
        CAPTURE(torus.describe(), from, to);
        const std::vector<Hop> path = torus.path(from, to);
        REQUIRE(int(path.size()) == torus.distance(from, to));
        std::set<int> finished;
        Rank at = from;
        int dimension = -1, previous_steps = 0;
        for (const Hop& hop : path) {
            REQUIRE(torus.neighbour(at, hop.direction) == hop.rank);
            if (hop.direction.dimension != dimension) {
                REQUIRE(finished.insert(hop.direction.dimension).second);
                dimension = hop.direction.dimension;
                const int steps = std::abs(torus.offset(from, to, dimension));
                REQUIRE(steps >= previous_steps);  // shortest direction first
                previous_steps = steps;
            }
            REQUIRE(torus.offset(from, to, dimension) * hop.direction.sign > 0);
            at = hop.rank;
        }
        REQUIRE(at == to);
    }
}

TEST_CASE("dimensions with equally many remaining steps are crossed lowest first") {
    const Torus torus(std::vector{4, 4, 4});
    const std::vector<Hop> path = torus.path(0, torus.rank({1, 3, 1}));
    REQUIRE(path.size() == 3);
    CHECK(path[0] == Hop{{0, +1}, torus.rank({1, 0, 0})});
    CHECK(path[1] == Hop{{1, -1}, torus.rank({1, 3, 0})});
    CHECK(path[2] == Hop{{2, +1}, torus.rank({1, 3, 1})});
}

TEST_CASE("a rank has neither a next hop nor a path to itself") {
    const Torus torus(std::vector{3, 5, 1});
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        REQUIRE_FALSE(torus.next_hop(rank, rank));
        REQUIRE(torus.path(rank, rank).empty());
    }
}

TEST_CASE("the largest torus that can be numbered computes without overflow") {
    const Torus torus(std::vector{46340, 46340});
    const Rank last = torus.size() - 1;
    CHECK(torus.rank(torus.coordinates(last)) == last);
    CHECK(torus.distance(0, last) == 2);
    CHECK(torus.neighbour(last, {0, +1}) == 46339);
    CHECK(torus.distance(0, torus.rank({23170, 23170})) == 46340);
    CHECK(Torus(std::vector{2147483647}).size() == 2147483647);
}

TEST_CASE("coordinates of very large tori agree with plain division") {
    Random random{std::uint32_t(GENERATE(range(0, 100)))};
    std::vector<int> extents;
    std::int64_t room = 2147483647;
    for (int d = between(random, 1, max_dimensions); d > 0; --d) {
        extents.push_back(
            between(random, 1, d == 1 ? int(room) : int(std::min<std::int64_t>(room, 3000))));
        room /= extents.back();
    }
    const Torus torus(extents);
    CAPTURE(torus.describe());
    for (int trial = 0; trial < 500; ++trial) {
        const Rank rank =
            trial < 2 ? trial * (torus.size() - 1) : between(random, 0, torus.size() - 1);
        int rest = rank;
        for (int d = torus.dimensions() - 1; d >= 0; rest /= torus.extent(d), --d) {
            REQUIRE(torus.coordinates(rank)[d] == rest % torus.extent(d));
            const int ahead = rest % torus.extent(d), back = torus.extent(d) - ahead;
            const int offset = ahead <= back ? ahead : -back;
            REQUIRE(torus.offset(0, rank, d) == offset);
        }
        REQUIRE(torus.rank(torus.coordinates(rank)) == rank);
    }
}

TEST_CASE("a torus describes itself with its open dimensions marked") {
    CHECK(Torus(std::vector{4, 8, 8}).describe() == "4x8x8");
    CHECK(Torus(std::vector{4, 8}, {true, false}).describe() == "4x8open");
    CHECK(Torus(std::vector{4, 1}, {false, true}).describe() == "4openx1");
}

TEST_CASE("tori are equal when extents and wraparound are") {
    CHECK(Torus(std::vector{4, 8}) == Torus(std::vector{4, 8}, {true, true}));
    CHECK_FALSE(Torus(std::vector{4, 8}) == Torus(std::vector{4, 8}, {true, false}));
    CHECK_FALSE(Torus(std::vector{4, 8}) == Torus(std::vector{8, 4}));
    CHECK_FALSE(Torus(std::vector{4}) == Torus(std::vector{4, 1}));
}

TEST_CASE("an impossible torus is refused with the value found and the value expected") {
    const auto make = [](std::vector<int> dims, std::vector<bool> periodic = {}) {
        return Torus(dims, periodic);
    };
    CHECK_THROWS_WITH(make({}), Equals("a torus has 1 to 6 dimensions, found 0"));
    CHECK_THROWS_WITH(make({1, 1, 1, 1, 1, 1, 1}),
                      Equals("a torus has 1 to 6 dimensions, found 7"));
    CHECK_THROWS_WITH(make({4, 0}),
                      Equals("dimension 1 of the torus has extent 0, expected 1 or more"));
    CHECK_THROWS_WITH(make({-3}),
                      Equals("dimension 0 of the torus has extent -3, expected 1 or more"));
    CHECK_THROWS_WITH(make({4, 4}, {true}),
                      Equals("found 1 periodic flags for 2 dimensions, expected none or one each"));
    CHECK_THROWS_WITH(make({65536, 32768}),
                      Equals("the torus 65536x32768 has more ranks than the 2147483647 that can be "
                             "numbered"));
    CHECK_THROWS_AS(make({2147483647, 2147483647, 2147483647}), std::invalid_argument);
}
