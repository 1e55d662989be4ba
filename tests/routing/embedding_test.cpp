// SPDX-License-Identifier: BSD-3-Clause
#include "routing/embedding.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;
using Catch::Matchers::Equals;

namespace {

using Dims = std::vector<int>;

Embedding embed(const Dims& physical, const Dims& logical, const std::vector<bool>& periodic = {}) {
    return Embedding(logical, periodic, Torus(physical));
}

// Row-major coordinates, computed independently of the code under test.
Dims coordinates_of(int place, const Dims& extents) {
    Dims at(extents.size());
    for (std::size_t d = extents.size(); d-- > 0; place /= extents[d]) at[d] = place % extents[d];
    return at;
}

bool are_neighbours_along(std::size_t dimension, const Dims& a, const Dims& b, const Embedding& e) {
    for (std::size_t d = 0; d < a.size(); ++d) {
        if (d != dimension && a[d] != b[d]) return false;
    }
    const int apart = std::abs(a[dimension] - b[dimension]);
    return apart == 1 ||
           (apart > 1 && e.periodic(int(dimension)) && apart == e.extents()[dimension] - 1);
}

// Looks at every pair of places: slow, plain, and independent of the code under test.
Dilation dilation_by_all_pairs(const Embedding& e, std::size_t dimension) {
    Dilation result;
    std::int64_t steps = 0;
    const int places = e.physical().size();
    for (int a = 0; a < places; ++a) {
        const Dims at = coordinates_of(a, e.extents());
        for (int b = a + 1; b < places; ++b) {
            if (!are_neighbours_along(dimension, at, coordinates_of(b, e.extents()), e)) continue;
            const int distance = e.physical().distance(e.to_physical()[std::size_t(a)],
                                                       e.to_physical()[std::size_t(b)]);
            result.maximum = std::max(result.maximum, distance);
            steps += distance;
            ++result.pairs;
        }
    }
    if (result.pairs > 0) result.average = double(steps) / result.pairs;
    return result;
}

void require_true_report(const Embedding& e) {
    Dilation all;
    double steps = 0;
    for (std::size_t d = 0; d < e.extents().size(); ++d) {
        const Dilation expected = dilation_by_all_pairs(e, d);
        const Dilation& found = e.dilation(int(d));
        REQUIRE(found.maximum == expected.maximum);
        REQUIRE(found.pairs == expected.pairs);
        REQUIRE(found.average == Approx(expected.average));
        all.maximum = std::max(all.maximum, expected.maximum);
        all.pairs += expected.pairs;
        steps += expected.average * expected.pairs;
    }
    REQUIRE(e.dilation().maximum == all.maximum);
    REQUIRE(e.dilation().pairs == all.pairs);
    REQUIRE(e.dilation().average == Approx(all.pairs ? steps / all.pairs : 0.0));
}

void require_one_to_one(const Embedding& e) {
    REQUIRE(int(e.to_physical().size()) == e.physical().size());
    REQUIRE(int(e.to_logical().size()) == e.physical().size());
    std::set<Rank> seen(e.to_physical().begin(), e.to_physical().end());
    REQUIRE(int(seen.size()) == e.physical().size());
    REQUIRE(*seen.begin() == 0);
    REQUIRE(*seen.rbegin() == e.physical().size() - 1);
    for (int place = 0; place < e.physical().size(); ++place) {
        REQUIRE(e.to_logical()[std::size_t(e.to_physical()[std::size_t(place)])] == place);
    }
}

// Cycles of four ranks over the links of a torus: equal graphs have equally many.
int count_squares(const Torus& torus) {
    int squares = 0;
    for (Rank a = 0; a < torus.size(); ++a) {
        for (Rank c = a + 1; c < torus.size(); ++c) {
            int common = 0;
            if (torus.distance(a, c) > 2) continue;
            for (Rank b = 0; b < torus.size(); ++b) {
                common += torus.distance(a, b) == 1 && torus.distance(b, c) == 1;
            }
            squares += common * (common - 1) / 2;
        }
    }
    return squares / 2;  // each was found by both of its diagonals
}

}  // namespace

TEST_CASE("the machine's own grid is laid out unchanged") {
    Random random{std::uint32_t(GENERATE(range(0, 60)))};
    const Shape shape = random_shape(random, 800);
    const Embedding e(shape.extents, shape.periodic, shape.torus());
    CAPTURE(e.describe());
    Dims identity(e.to_physical().size());
    std::iota(identity.begin(), identity.end(), 0);
    REQUIRE(e.to_physical() == identity);
    REQUIRE(e.dilation().maximum <= 1);
}

TEST_CASE(
    "exchanged dimensions, with or without dimensions of size 1 between, keep all neighbours") {
    Random random{std::uint32_t(GENERATE(range(0, 100)))};
    const Shape physical = random_shape(random, 800);
    Shape logical;
    std::vector<std::size_t> order(physical.extents.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    for (std::size_t d = order.size() - 1; d > 0; --d) {
        std::swap(order[d], order[std::size_t(between(random, 0, int(d)))]);
    }
    for (std::size_t d : order) {
        if (between(random, 0, 2) == 0) {
            logical.extents.push_back(1);
            logical.periodic.push_back(true);
        }
        logical.extents.push_back(physical.extents[d]);
        logical.periodic.push_back(physical.periodic[d]);
    }
    const Embedding e(logical.extents, logical.periodic, physical.torus());
    CAPTURE(e.describe());
    require_one_to_one(e);
    REQUIRE(e.dilation().maximum <= 1);
}

TEST_CASE(
    "any grid over any torus is laid out one to one, and its dilation is reported correctly") {
    Random random{std::uint32_t(GENERATE(range(0, 120)))};
    const Torus torus = random_shape(random, 150).torus();
    const Shape grid = random_grid(random, torus.size());
    const Embedding e(grid.extents, grid.periodic, torus);
    CAPTURE(e.describe());
    require_one_to_one(e);
    require_true_report(e);
}

TEST_CASE("every rank computes the same map") {
    Random random{std::uint32_t(GENERATE(range(0, 20)))};
    const Torus torus = random_shape(random, 400).torus();
    const Shape grid = random_grid(random, torus.size());
    REQUIRE(Embedding(grid.extents, grid.periodic, torus).to_physical() ==
            Embedding(grid.extents, grid.periodic, torus).to_physical());
}

TEST_CASE("physical dimensions folded into fewer logical ones keep all neighbours on a torus") {
    Random random{std::uint32_t(GENERATE(range(0, 150)))};
    Shape physical = random_shape(random, 800);
    physical.periodic.assign(physical.extents.size(), true);
    Dims logical(std::size_t(between(random, 1, 6)), 1);
    for (int extent : physical.extents) {
        logical[std::size_t(between(random, 0, int(logical.size()) - 1))] *= extent;
    }
    const Embedding e(logical, {}, physical.torus());
    CAPTURE(e.describe());
    require_one_to_one(e);
    REQUIRE(e.dilation().maximum <= 1);
}

TEST_CASE("physical dimensions folded into open logical ones keep all neighbours on any mesh") {
    Random random{std::uint32_t(GENERATE(range(0, 100)))};
    const Shape physical = random_shape(random, 800);
    Dims logical(std::size_t(between(random, 1, 6)), 1);
    for (int extent : physical.extents) {
        logical[std::size_t(between(random, 0, int(logical.size()) - 1))] *= extent;
    }
    const Embedding e(logical, std::vector<bool>(logical.size(), false), physical.torus());
    CAPTURE(e.describe());
    require_one_to_one(e);
    REQUIRE(e.dilation().maximum <= 1);
}

TEST_CASE("a wrapped dimension of 4 is a square, so it serves as two dimensions of 2") {
    CHECK(embed({4}, {2, 2}).dilation().maximum == 1);
    CHECK(embed({4, 4}, {2, 8}).dilation().maximum == 1);
    CHECK(embed({4, 4, 4, 4, 4}, Dims(10, 2)).dilation().maximum == 1);
    CHECK(embed({3, 4}, {6, 2}).dilation().maximum == 1);
    CHECK(embed({2, 2, 2, 2}, {4, 4}).dilation().maximum == 1);
    CHECK(Embedding(Dims{2, 2}, {}, Torus(Dims{4}, {false})).dilation().maximum == 2);
}

TEST_CASE("the 6x8x2x2x2 machine serves as every 3-D torus that its dimensions fold into") {
    const Dims machine{6, 8, 2, 2, 2};
    for (int choice = 0; choice < 243; ++choice) {
        Dims logical{1, 1, 1};
        for (int d = 0, rest = choice; d < 5; ++d, rest /= 3) {
            logical[std::size_t(rest % 3)] *= machine[std::size_t(d)];
        }
        const Embedding e = embed(machine, logical);
        CAPTURE(e.describe());
        REQUIRE(e.dilation().maximum == 1);
    }
    CHECK(embed(machine, {6, 8, 8}).describe() == "6x8x2x2x2 as 6x8x8: dilation 1");
    CHECK(embed(machine, {12, 8, 4}).describe() == "6x8x2x2x2 as 12x8x4: dilation 1");
    CHECK(embed(machine, {384}).describe() == "6x8x2x2x2 as 384: dilation 1");
}

TEST_CASE("a ring of odd length cannot stay adjacent on the even 6x8x2x2x2 machine, and needs 2") {
    // Its ranks are coloured like a chessboard, so every cycle of links is even.
    const Embedding e = embed({6, 8, 2, 2, 2}, {3, 8, 16});
    CHECK(e.dilation().maximum == 2);
    CHECK(e.dilation(0).maximum == 2);
    CHECK(e.dilation(1).maximum == 1);
    CHECK(e.dilation(2).maximum == 1);
}

TEST_CASE("4x8x8 as 4x4x16 cannot keep all neighbours, and reaches the 2 that is possible") {
    // Both have six links a rank, so an embedding of dilation 1 would make them the same graph; but
    // they have different numbers of squares.
    const Torus machine(Dims{4, 8, 8}), wanted(Dims{4, 4, 16});
    REQUIRE(count_squares(machine) == 3 * 256 + 256 / 4);
    REQUIRE(count_squares(wanted) == 3 * 256 + 2 * 256 / 4);
    const Embedding e(wanted.extents(), {}, machine);
    CHECK(e.dilation().maximum == 2);
    CHECK(e.dilation().average < 1.25);
    const std::string head = "4x8x8 as 4x4x16: dilation 2 (average 1.";
    CHECK(e.describe().substr(0, head.size()) == head);
}

TEST_CASE("4x8x8 serves without dilation as the tori that fold it or split its 4") {
    for (const Dims& logical : {Dims{8, 8, 4},
                                {32, 8},
                                {16, 16},
                                {2, 2, 8, 8},
                                {2, 8, 16},
                                {256},
                                {1, 4, 1, 64},
                                {4, 64}}) {
        const Embedding e = embed({4, 8, 8}, logical);
        CAPTURE(e.describe());
        CHECK(e.dilation().maximum == 1);
    }
}

TEST_CASE("a ring on an open line folds with steps of two, and on an open odd mesh has one flaw") {
    const Embedding line(Dims{9}, {}, Torus(Dims{9}, {false}));
    CHECK(line.dilation().maximum == 2);
    CHECK(line.describe() == "9open as 9: dilation 2 (average 1.78)");
    const Embedding mesh(Dims{15}, {}, Torus(Dims{3, 5}, {false, false}));
    CHECK(mesh.dilation().maximum == 2);
    CHECK(mesh.dilation().average == Approx(16.0 / 15));
    const Embedding half(Dims{15}, {}, Torus(Dims{3, 5}, {true, false}));
    CHECK(half.dilation().maximum == 1);
}

TEST_CASE("logical dimensions of sizes 1 and 2 are counted as they are linked") {
    const Embedding e = embed({2, 3}, {1, 2, 1, 3});
    CHECK(e.dilation(0).pairs == 0);
    CHECK(e.dilation(0).maximum == 0);
    CHECK(e.dilation(1).pairs == 3);  // both ways round lead to the same place
    CHECK(e.dilation(3).pairs == 6);
    CHECK(e.dilation().maximum == 1);
    CHECK(embed({2}, {2}, {false}).dilation().pairs == 1);
}

TEST_CASE("a single place, with or without dimensions, has no dilation") {
    CHECK(embed({1, 1}, {1}).describe() == "1x1 as 1: dilation 0");
    const Embedding none = embed({1}, {});
    CHECK(none.to_physical() == Dims{0});
    CHECK(none.describe() == "1 as a point: dilation 0");
}

TEST_CASE("open logical dimensions are named in the description") {
    CHECK(embed({4, 4}, {4, 4}, {true, false}).describe() == "4x4 as 4x4open: dilation 1");
}

TEST_CASE("far larger and far finer grids are laid out within the bound on work") {
    // Such a search would never end by itself: it has more plans than could be looked at.
    const Embedding fine = embed({64, 81, 25}, {2, 4, 8, 3, 3, 9, 5, 5, 1, 1});
    require_one_to_one(fine);
    const Embedding line = embed({1024}, {4, 4, 4, 4, 4}, {true, false, true, false, true});
    require_one_to_one(line);
    const Embedding large = embed({30, 30, 30}, {2, 3, 5, 2, 3, 5, 30});
    require_one_to_one(large);
}

TEST_CASE("an impossible grid is refused with the value found and the value expected") {
    CHECK_THROWS_WITH(embed({4, 4}, {4, 5}), Equals("the logical grid 4x5 has 20 positions, but "
                                                    "the "
                                                    "torus 4x4 has 16 ranks; expected equal "
                                                    "numbers"));
    CHECK_THROWS_WITH(embed({4}, {}), Equals("the logical grid of no dimensions has 1 positions, "
                                             "but "
                                             "the torus 4 has 4 ranks; expected equal numbers"));
    CHECK_THROWS_WITH(embed({4}, {4, 0}),
                      Equals("logical dimension 1 has extent 0, expected 1 or more"));
    CHECK_THROWS_WITH(embed({4}, {-4}),
                      Equals("logical dimension 0 has extent -4, expected 1 or more"));
    CHECK_THROWS_WITH(
        embed({4}, {4}, {true, true}),
        Equals("found 2 periodic flags for 1 logical dimensions, expected none or one "
               "each"));
    CHECK_THROWS_WITH(
        embed({4}, Dims(5, 65536)),
        Equals("the logical grid 65536x65536x65536x65536x65536 has more than 2147483647 "
               "positions, but the torus 4 has 4 ranks; expected equal numbers"));
}
