// SPDX-License-Identifier: BSD-3-Clause
// The division of the lattice among ranks. No messages are needed: the Lattice of any rank can be
// constructed here.
#include <catch2/catch.hpp>
#include <map>

#include "fixtures.h"

using namespace wilson;
using namespace wilson::test;

namespace {

struct Layout {
    Coord extent, grid;
};

const Layout layouts[] = {
    {{4, 4, 4, 4}, {1, 1, 1, 1}}, {{4, 4, 4, 4}, {2, 2, 2, 2}}, {{8, 4, 6, 2}, {4, 1, 2, 1}},
    {{6, 6, 4, 4}, {2, 2, 1, 1}},  // 3 sites a rank: ranks have as many odd as even sites only in
                                   // sum
    {{6, 6, 6, 6}, {2, 2, 2, 2}},  // 81 sites a rank
    {{2, 2, 2, 2}, {2, 2, 2, 2}},  // one site a rank, both neighbours the same rank
    {{2, 4, 4, 6}, {1, 4, 1, 3}},
};

std::vector<Coord> places(const Coord& grid) {
    std::vector<Coord> all;
    Coord p;
    for (p[3] = 0; p[3] < grid[3]; ++p[3])
        for (p[2] = 0; p[2] < grid[2]; ++p[2])
            for (p[1] = 0; p[1] < grid[1]; ++p[1])
                for (p[0] = 0; p[0] < grid[0]; ++p[0]) all.push_back(p);
    return all;
}

Coord step(const Coord& x, const Coord& extent, int direction) {
    Coord y = x;
    const int mu = direction / 2;
    y[mu] = (x[mu] + (direction == forward(mu) ? 1 : extent[mu] - 1)) % extent[mu];
    return y;
}

std::string why_refused(const Coord& extent, const Coord& grid, int ranks) {
    try {
        check_layout(extent, grid, ranks);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("wilson: every site is on exactly one rank and under its parity") {
    for (const auto& [extent, grid] : layouts) {
        CAPTURE(to_string(extent), to_string(grid));
        std::map<std::int64_t, int> seen;
        for (const Coord& p : places(grid)) {
            const Lattice lattice(extent, grid, p);
            for (int parity : {0, 1})
                for (int site = 0; site < lattice.sites(parity); ++site) {
                    const Coord& x = lattice.global(parity, site);
                    CHECK((x[0] + x[1] + x[2] + x[3]) % 2 == parity);
                    ++seen[lattice.global_index(parity, site)];
                }
        }
        CHECK(static_cast<std::int64_t>(seen.size()) == whole(extent).volume());
        for (const auto& [index, times] : seen) CHECK(times == 1);
    }
}

TEST_CASE(
    "wilson: neighbours inside a rank are one step away, and halo entries are the other rank's "
    "face") {
    for (const auto& [extent, grid] : layouts) {
        CAPTURE(to_string(extent), to_string(grid));
        for (const Coord& p : places(grid)) {
            const Lattice lattice(extent, grid, p);
            for (int direction = 0; direction < 8; ++direction) {
                const Lattice other(extent, grid, step(p, grid, direction));
                for (int parity : {0, 1}) {
                    const auto sent = other.face(1 - parity, opposite(direction));
                    REQUIRE(sent.size() == lattice.face(parity, direction).size());
                    for (int site = 0; site < lattice.sites(parity); ++site) {
                        const int n = lattice.neighbours(parity, site)[direction];
                        const Coord y = step(lattice.global(parity, site), extent, direction);
                        if (n >= 0)
                            CHECK(lattice.global(1 - parity, n) == y);
                        else
                            CHECK(other.global(1 - parity, sent[~n]) == y);
                    }
                }
            }
        }
    }
}

TEST_CASE("wilson: interior and boundary sites together are all sites") {
    for (const auto& [extent, grid] : layouts)
        for (const Coord& p : places(grid)) {
            const Lattice lattice(extent, grid, p);
            for (int parity : {0, 1}) {
                std::vector<int> times(lattice.sites(parity));
                for (const int site : lattice.interior(parity)) {
                    ++times[site];
                    for (const int n : lattice.neighbours(parity, site)) CHECK(n >= 0);
                }
                for (const int site : lattice.boundary(parity)) ++times[site];
                for (const int n : times) CHECK(n == 1);
            }
        }
}

TEST_CASE("wilson: random links do not depend on the grid") {
    const Coord extent{4, 4, 6, 4}, grid{2, 1, 3, 2};
    const Lattice all = whole(extent);
    const GaugeField expected = random_links(all, 42);
    for (const Coord& p : places(grid)) {
        const Lattice lattice(extent, grid, p);
        const GaugeField found = random_links(lattice, 42);
        for (int parity : {0, 1})
            for (int site = 0; site < lattice.sites(parity); ++site) {
                const auto there = all.place(lattice.global(parity, site));
                for (int mu = 0; mu < 4; ++mu)
                    CHECK(distance(found.links[parity][site][mu],
                                   expected.links[there.parity][there.site][mu]) == 0);
            }
    }
}

TEST_CASE("wilson: layouts that cannot work are refused with what was found and expected") {
    CHECK(why_refused({8, 8, 8, 16}, {2, 2, 2, 1}, 8).empty());
    CHECK(why_refused({6, 6, 4, 4}, {2, 2, 1, 1}, 4).empty());
    CHECK_THAT(why_refused({4, 4, 4, 5}, {1, 1, 1, 1}, 1),
               Catch::Contains("extent in t is 5") && Catch::Contains("even"));
    CHECK_THAT(why_refused({8, 8, 8, 8}, {1, 3, 1, 1}, 3),
               Catch::Contains("8 sites in y") && Catch::Contains("3 ranks"));
    CHECK_THAT(why_refused({8, 8, 8, 8}, {2, 2, 1, 1}, 8),
               Catch::Contains("for 4 ranks") && Catch::Contains("8 were started"));
    CHECK_THAT(why_refused({8192, 8192, 8192, 8192}, {1, 1, 1, 1}, 1),
               Catch::Contains("more ranks"));
    CHECK_THROWS_WITH(best_grid({4, 4, 4, 4}, 3), Catch::Contains("no grid of 3 ranks"));
}

TEST_CASE("wilson: the default grid divides the lattice with the least surface") {
    CHECK(best_grid({8, 8, 8, 16}, 1) == Coord{1, 1, 1, 1});
    CHECK(best_grid({8, 8, 8, 16}, 2) == Coord{1, 1, 1, 2});
    // As much surface as 2x2x2x2, in half as many messages.
    CHECK(best_grid({16, 16, 16, 16}, 16) == Coord{1, 1, 4, 4});
    CHECK(best_grid({6, 4, 4, 4}, 3) == Coord{3, 1, 1, 1});
}
