// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/topology/cartesian_grid.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace torusmp::mpi;

namespace {

std::vector<int> filled(int nodes, std::vector<int> dims, const std::vector<int>& machine = {}) {
    if (!fill_dims(nodes, dims, machine)) return {};
    return dims;
}

std::vector<int> coordinates(const CartesianGrid& grid, int rank) {
    std::vector<int> c;
    for (int d = 0; d < grid.dimensions(); ++d) c.push_back(grid.coordinate(rank, d));
    return c;
}

}  // namespace

TEST_CASE("ranks and coordinates of a grid are inverse to each other") {
    const CartesianGrid grid({3, 1, 4, 2}, {true, false, true, false});
    REQUIRE(grid.size() == 24);
    for (int rank = 0; rank < grid.size(); ++rank)
        CHECK(grid.rank(coordinates(grid, rank)) == rank);
    CHECK(coordinates(grid, 1) == std::vector{0, 0, 0, 1});
}

TEST_CASE("coordinates wrap around only in periodic dimensions") {
    const CartesianGrid grid({3, 4}, {true, false});
    CHECK(grid.rank(std::vector{-1, 2}) == grid.rank(std::vector{2, 2}));
    CHECK(grid.rank(std::vector{-7, 2}) == grid.rank(std::vector{2, 2}));
    CHECK(grid.rank(std::vector{5, 0}) == grid.rank(std::vector{2, 0}));
    CHECK_FALSE(grid.rank(std::vector{0, 4}));
    CHECK_FALSE(grid.rank(std::vector{0, -1}));
}

TEST_CASE("steps along a dimension end only at open edges") {
    const CartesianGrid grid({3, 4}, {true, false});
    for (int rank = 0; rank < grid.size(); ++rank) {
        for (int steps = -9; steps <= 9; ++steps) {
            auto c = coordinates(grid, rank);
            c[0] += steps;
            CHECK(grid.step(rank, 0, steps) == grid.rank(c));
            c[0] -= steps;
            c[1] += steps;
            CHECK(grid.step(rank, 1, steps) == grid.rank(c));
        }
        CHECK(grid.step(rank, 0, -(std::int64_t{1} << 31)));
    }
}

TEST_CASE("a grid of no dimensions is a point") {
    const CartesianGrid grid({}, {});
    CHECK(grid.size() == 1);
    CHECK(grid.rank({}) == 0);
}

TEST_CASE("parts of a grid hold each rank once, in order") {
    const CartesianGrid grid({2, 3, 4}, {true, false, true});
    for (int mask = 0; mask < 8; ++mask) {
        const std::vector<bool> kept{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
        std::vector<std::pair<int, int>> seen;
        for (int rank = 0; rank < grid.size(); ++rank) {
            const auto part = grid.part(rank, kept);
            REQUIRE(part.extents.size() == std::size_t(std::count(kept.begin(), kept.end(), true)));
            seen.emplace_back(part.color, part.rank);
            const CartesianGrid small(part.extents, part.periodic);
            CHECK(part.rank < small.size());
            int k = 0;
            for (int d = 0; d < 3; ++d)
                if (kept[std::size_t(d)])
                    CHECK(small.coordinate(part.rank, k++) == grid.coordinate(rank, d));
        }
        std::sort(seen.begin(), seen.end());
        CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
    }
}

TEST_CASE("dimensions are filled as evenly as possible, in non-increasing order") {
    CHECK(filled(6, {0, 0}) == std::vector{3, 2});
    CHECK(filled(7, {0, 0}) == std::vector{7, 1});
    CHECK(filled(6, {0, 3, 0}) == std::vector{2, 3, 1});
    CHECK(filled(7, {0, 3, 0}).empty());
    CHECK(filled(24, {0, 0, 2}) == std::vector{4, 3, 2});
    CHECK(filled(36, {0, 0}) == std::vector{6, 6});
    CHECK(filled(24, {2, 3, 4}) == std::vector{2, 3, 4});
    CHECK(filled(24, {2, 3, 5}).empty());
    CHECK(filled(12, {5, 0}).empty());
    CHECK(filled(1, {0, 0, 0}) == std::vector{1, 1, 1});
    CHECK(filled(2147483647, {0}) == std::vector{2147483647});
    CHECK(filled(8, {2147483647, 2147483647}).empty());
    for (int nodes = 1; nodes < 400; ++nodes) {
        for (int ndims = 1; ndims <= 5; ++ndims) {
            const auto dims = filled(nodes, std::vector<int>(std::size_t(ndims), 0));
            CHECK(std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>()) == nodes);
            CHECK(std::is_sorted(dims.rbegin(), dims.rend()));
        }
    }
}

namespace {

// All products of `count` factors, none larger than `most`, largest first.
void all_products(int product, int count, int most, std::vector<int>& chosen,
                  std::vector<std::vector<int>>& found) {
    if (count == 0) {
        if (product == 1) found.push_back(chosen);
        return;
    }
    for (int factor = 1; factor <= std::min(product, most); ++factor) {
        if (product % factor != 0) continue;
        chosen.push_back(factor);
        all_products(product / factor, count - 1, factor, chosen, found);
        chosen.pop_back();
    }
}

}  // namespace

TEST_CASE("no other filling is more even") {
    for (const int nodes : {1, 2, 12, 60, 64, 72, 97, 144, 210, 240, 360, 720, 5040, 7488}) {
        for (int ndims = 1; ndims <= 4; ++ndims) {
            std::vector<std::vector<int>> all;
            std::vector<int> chosen;
            all_products(nodes, ndims, nodes, chosen, all);
            const auto key = [](const std::vector<int>& dims) {
                return std::pair(dims.front() - dims.back(), -dims.back());
            };
            const auto best = std::min_element(all.begin(), all.end(),
                                               [&](auto& a, auto& b) { return key(a) < key(b); });
            INFO(nodes << " in " << ndims);
            CHECK(key(filled(nodes, std::vector<int>(std::size_t(ndims), 0))) == key(*best));
        }
    }
    CHECK(filled(5040, {0, 0, 0}) == std::vector{21, 16, 15});
    CHECK(filled(7488, {0, 0, 0}) == std::vector{26, 18, 16});
    CHECK(filled(408000, {0, 0, 0, 0}) == std::vector{34, 25, 24, 20});
    CHECK(filled(98784, {0, 0, 0, 0, 0}) == std::vector{14, 14, 9, 8, 7});
    CHECK(filled(735134400, {0, 0, 0, 0, 0}).size() == 5);
}

TEST_CASE("the machine's extents are used if no others are more even") {
    // 6 6 2 2 and 4 4 3 3 differ in spread, so the machine's own lose.
    CHECK(filled(144, {0, 0, 0, 0}, {6, 6, 2, 2}) == std::vector{4, 4, 3, 3});
    CHECK(filled(256, {0, 0, 0}, {4, 8, 8}) == std::vector{8, 8, 4});
    CHECK(filled(8, {0, 0, 0}, {2, 2, 2}) == std::vector{2, 2, 2});
    CHECK(filled(64, {0, 0, 0}, {2, 4, 8}) == std::vector{4, 4, 4});
    CHECK(filled(8, {0, 0}, {2, 2, 2}) == std::vector{4, 2});
}
