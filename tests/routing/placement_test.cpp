// SPDX-License-Identifier: BSD-3-Clause
#include "routing/placement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "random_torus.h"
#include "routing/box.h"

using namespace torusmp::routing;
using torusmp::routing::test::between;
using torusmp::routing::test::random_grid;
using torusmp::routing::test::random_shape;

namespace {

std::vector<Rank> all_of(const Torus& torus) {
    std::vector<Rank> ranks(std::size_t(torus.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

Grid wrapped(std::vector<int> extents) {
    std::vector<bool> periodic(extents.size(), true);
    return {std::move(extents), std::move(periodic)};
}

bool chosen_once_each(const std::vector<Rank>& ranks, const std::vector<Rank>& candidates) {
    const std::set<Rank> chosen(ranks.begin(), ranks.end());
    return chosen.size() == ranks.size() && std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
               return std::count(candidates.begin(), candidates.end(), rank) == 1;
           });
}

std::vector<Traffic> cables_of(const Torus& torus) {
    std::vector<Traffic> edges;
    for (Rank rank = 0; rank < torus.size(); ++rank)
        for (int d = 0; d < torus.dimensions(); ++d)
            if (const auto next = torus.neighbour(rank, {d, +1})) edges.push_back({rank, *next});
    return edges;
}

void shuffle(std::vector<int>& values, test::Random& random) {
    for (int i = int(values.size()) - 1; i > 0; --i)
        std::swap(values[std::size_t(i)], values[std::size_t(between(random, 0, i))]);
}

}  // namespace

TEST_CASE("the machine's own grid keeps the order of the ranks") {
    for (const std::vector<int>& dims :
         {std::vector{2, 2, 2}, std::vector{4, 8, 8}, std::vector{5}, std::vector{2, 3, 2}}) {
        const Torus torus(dims);
        CHECK(place_grid(wrapped(dims), all_of(torus), torus) == all_of(torus));
    }
}

TEST_CASE("a grid is never laid out worse than in the order of the candidates") {
    test::Random random(7);
    for (int round = 0; round < 60; ++round) {
        const Torus torus = random_shape(random, 48).torus();
        auto candidates = all_of(torus);
        if (round % 3 == 1) shuffle(candidates, random);
        if (round % 3 == 2) candidates.resize(std::size_t(between(random, 1, torus.size())));
        const int places =
            round % 2 == 0 ? int(candidates.size()) : between(random, 1, int(candidates.size()));
        const auto shape = random_grid(random, places);
        const Grid grid{shape.extents, shape.periodic};
        const auto ranks = place_grid(grid, candidates, torus);
        INFO(torus.describe() << ", " << places << " places");
        REQUIRE(ranks.size() == std::size_t(places));
        CHECK(chosen_once_each(ranks, candidates));
        const std::vector<Rank> plain(candidates.begin(), candidates.begin() + places);
        CHECK_FALSE(closer(dilation_of(grid, plain, torus), dilation_of(grid, ranks, torus)));
        CHECK(place_grid(grid, candidates, torus) == ranks);
    }
}

TEST_CASE("the machine's dimensions in another order are permuted to fit") {
    const Torus torus(std::vector{2, 3, 4});
    const auto ranks = place_grid(wrapped({4, 3, 2}), all_of(torus), torus);
    CHECK(dilation_of(wrapped({4, 3, 2}), ranks, torus).maximum == 1);
    CHECK(ranks[0] == 0);
}

TEST_CASE("a plane and a line of the machine are laid out by their own links") {
    const Torus torus(std::vector{4, 4, 4});
    std::vector<Rank> plane, line;
    for (const Rank rank : all_of(torus)) {
        if (torus.coordinates(rank)[1] == 2) plane.push_back(rank);
        if (torus.coordinates(rank)[1] == 2 && torus.coordinates(rank)[2] == 1)
            line.push_back(rank);
    }
    for (const auto& extents : {std::vector{2, 8}, std::vector{16}, std::vector{4, 4}}) {
        const auto ranks = place_grid(wrapped(extents), plane, torus);
        CHECK(dilation_of(wrapped(extents), ranks, torus).maximum == 1);
    }
    CHECK(dilation_of(wrapped({4}), place_grid(wrapped({4}), line, torus), torus).maximum == 1);
}

TEST_CASE("a smaller grid takes a part of the machine where its neighbours are neighbours") {
    const Torus torus(std::vector{4, 4});
    const Grid open{{2, 4}, {false, false}};
    CHECK(dilation_of(open, place_grid(open, all_of(torus), torus), torus).maximum == 1);
    const Grid column{{3, 2}, {false, false}};
    CHECK(dilation_of(column, place_grid(column, all_of(torus), torus), torus).maximum == 1);
}

TEST_CASE("members that do not fill a box are laid out closer than at random") {
    const Torus torus(std::vector{4, 4});
    std::vector<Rank> candidates{15, 0, 7, 2, 5, 9, 1, 12, 6, 4};
    const Grid line{{10}, {false}};
    const auto ranks = place_grid(line, candidates, torus);
    CHECK(closer(dilation_of(line, ranks, torus), dilation_of(line, candidates, torus)));
}

TEST_CASE("a torus given as a shuffled graph is recognized and laid out without dilation") {
    test::Random random(11);
    for (const auto& dims : {std::vector{4, 4, 4}, std::vector{3, 5}, std::vector{8, 2, 2}}) {
        const Torus torus(dims);
        auto names = all_of(torus);
        shuffle(names, random);
        auto edges = cables_of(torus);
        for (Traffic& edge : edges) edge = {names[std::size_t(edge.a)], names[std::size_t(edge.b)]};
        const auto ranks = place_graph(torus.size(), edges, all_of(torus), torus);
        INFO(torus.describe());
        CHECK(hops_of(edges, ranks, torus) == std::int64_t(edges.size()));
    }
}

TEST_CASE(
    "a graph never needs more hops than in the order of the candidates, and often far fewer") {
    test::Random random(13);
    std::int64_t before = 0, after = 0;
    for (int round = 0; round < 40; ++round) {
        const Torus torus = random_shape(random, 40).torus();
        auto candidates = all_of(torus);
        shuffle(candidates, random);
        const int vertices = between(random, 1, torus.size());
        std::vector<Traffic> edges;
        for (int v = 1; v < vertices; ++v) edges.push_back({between(random, 0, v - 1), v, 2});
        for (int i = 0; i < vertices; ++i)
            edges.push_back({between(random, 0, vertices - 1), between(random, 0, vertices - 1),
                             std::int64_t(between(random, 0, 1))});
        const auto ranks = place_graph(vertices, edges, candidates, torus);
        REQUIRE(ranks.size() == std::size_t(vertices));
        CHECK(chosen_once_each(ranks, candidates));
        const auto hops = hops_of(edges, ranks, torus);
        CHECK(hops <= hops_of(edges, candidates, torus));
        before += hops_of(edges, candidates, torus);
        after += hops;
        CHECK(place_graph(vertices, edges, candidates, torus) == ranks);
    }
    CHECK(after * 3 < before * 2);
}

TEST_CASE("boxes of the machine are distinguished from other sets") {
    const Torus torus(std::vector{4, 6});
    const std::vector<Rank> row{6, 7, 8, 9, 10, 11};
    REQUIRE(box_of(torus, row));
    CHECK(box_of(torus, row)->extents == std::vector{1, 6});
    CHECK(box_of(torus, row)->periodic[1]);
    CHECK(box_of(torus, row)->linked);
    const std::vector<Rank> every_second{0, 2, 4};
    REQUIRE(box_of(torus, every_second));
    CHECK(box_of(torus, every_second)->periodic[1]);
    CHECK_FALSE(box_of(torus, every_second)->linked);
    const std::vector<Rank> half{0, 1, 2};
    REQUIRE(box_of(torus, half));
    CHECK_FALSE(box_of(torus, half)->periodic[1]);
    CHECK(box_of(torus, half)->linked);
    const std::vector<Rank> gaps{1, 2, 4};
    REQUIRE(box_of(torus, gaps));
    CHECK_FALSE(box_of(torus, gaps)->linked);
    CHECK_FALSE(box_of(torus, std::vector<Rank>{0, 1, 6}));
    CHECK_FALSE(box_of(torus, std::vector<Rank>{}));
}
