// SPDX-License-Identifier: BSD-3-Clause
#include "routing/partition.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <set>

#include "random_torus.h"
#include "routing/ways.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

// Shortest paths through one region each, in a tree, in the right order.
void require_partition(const Torus& torus, const Partition& partition, Rank root) {
    REQUIRE(partition.root == root);
    REQUIRE(partition.region[std::size_t(root)] == -1);
    std::set<Rank> ordered;
    for (std::size_t region = 0; region < partition.order.size(); ++region) {
        int before = torus.size();
        for (const Rank rank : partition.order[region]) {
            REQUIRE(ordered.insert(rank).second);
            REQUIRE(partition.region[std::size_t(rank)] == int(region));
            REQUIRE(torus.distance(root, rank) <= before);
            before = torus.distance(root, rank);
        }
    }
    REQUIRE(int(ordered.size()) == torus.size() - 1);

    std::set<std::pair<Rank, int>> arcs_of_other_regions;
    for (std::size_t region = 0; region < partition.order.size(); ++region) {
        std::set<std::pair<Rank, int>> arcs;
        std::vector<int> entered(std::size_t(torus.size()), -1);
        for (const Rank rank : partition.order[region]) {
            const auto path = partition.path(rank);
            REQUIRE(int(path.size()) == torus.distance(root, rank));
            REQUIRE(path.front().direction == partition.first[region]);
            REQUIRE(path.back().rank == rank);
            Rank at = root;
            for (const Hop& hop : path) {
                REQUIRE(torus.neighbour(at, hop.direction) == hop.rank);
                const int arc = at * 2 * max_dimensions + hop.direction.index();
                // A tree: whichever message comes through a rank, it comes by one arc.
                int& by = entered[std::size_t(hop.rank)];
                REQUIRE((by == -1 || by == arc));
                by = arc;
                arcs.insert({at, hop.direction.index()});
                at = hop.rank;
            }
        }
        for (const auto& arc : arcs) REQUIRE(arcs_of_other_regions.insert(arc).second);
    }
}

int links_of(const Torus& torus, Rank rank) {
    int links = 0;
    for (int i = 0; i < 2 * torus.dimensions(); ++i) {
        links += torus.neighbour(rank, Direction::from_index(i)).has_value() ? 1 : 0;
    }
    return links;
}

std::size_t largest(const Partition& partition) {
    std::size_t most = 0;
    for (const auto& order : partition.order) most = std::max(most, order.size());
    return most;
}

// The least possible size of the largest region, by Hall's theorem: some ranks have all the first
// steps of their shortest paths within a set of links, and share these.
std::size_t least_largest(const Torus& torus, Rank root) {
    std::vector<int> ranks_of(std::size_t(1) << (2 * torus.dimensions()), 0);
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (rank == root) continue;
        unsigned links = 0;
        for (const Direction first : first_directions(torus, root, rank)) {
            links |= 1U << first.index();
        }
        ++ranks_of[links];
    }
    for (int bit = 0; bit < 2 * torus.dimensions(); ++bit) {
        for (unsigned set = 0; set < ranks_of.size(); ++set) {
            if ((set >> bit & 1U) != 0) ranks_of[set] += ranks_of[set & ~(1U << bit)];
        }
    }
    std::size_t least = 0;
    for (unsigned set = 1; set < ranks_of.size(); ++set) {
        bool real = true;
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            real &= (set >> i & 1U) == 0 || torus.neighbour(root, Direction::from_index(i));
        }
        const auto count = unsigned(std::popcount(set));
        if (real)
            least = std::max(least, std::size_t((unsigned(ranks_of[set]) + count - 1) / count));
    }
    return least;
}

}  // namespace

TEST_CASE("regions hold shortest paths, make trees, share no arc, and send the furthest first") {
    Random random{std::uint32_t(GENERATE(range(0, 150)))};
    const Torus torus = random_shape(random, 300).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const Partition partition = optimal_partition(torus, root);
    REQUIRE(int(partition.first.size()) == links_of(torus, root));
    require_partition(torus, partition, root);
    // No shape tried so far needs more than one above what Hall's theorem allows.
    if (torus.size() > 1) {
        REQUIRE(largest(partition) >= least_largest(torus, root));
        REQUIRE(largest(partition) <= least_largest(torus, root) + 1);
    }
}

TEST_CASE("on tori and meshes with room the regions differ by at most one rank") {
    const auto [dims, periodic, root] = GENERATE(table<std::vector<int>, bool, Rank>({
        {{8, 8}, true, 0},
        {{4, 8, 8}, true, 17},
        {{6, 8, 8}, true, 383},
        {{2, 2, 2}, true, 0},
        {{3, 3, 3}, true, 1},
        {{4, 4, 4}, true, 5},
        {{8, 8, 8}, true, 100},
        {{16, 16, 16}, true, 0},
        {{5, 7, 3}, true, 104},
        {{4, 4, 2}, true, 31},
        {{2, 2, 32}, true, 9},
        {{3, 9}, true, 0},
        {{2}, true, 1},
        {{2, 2, 2, 2, 2, 2}, true, 0},
        {{4, 4, 4, 4}, true, 255},
        {{8, 8}, false, 0},
        {{8, 8}, false, 36},
        {{4, 4, 4}, false, 0},
        {{4, 4, 4}, false, 34},
        {{5, 7, 3}, false, 0},
        {{5, 7, 3}, false, 52},
        {{32, 32, 32}, true, 777},
    }));
    const Torus torus(dims, std::vector<bool>(dims.size(), periodic));
    CAPTURE(torus.describe(), root);
    const Partition partition = optimal_partition(torus, root);
    for (const auto& order : partition.order) {
        CHECK(order.size() + 1 >= largest(partition));
    }
    const auto links = partition.order.size();
    CHECK(largest(partition) == (std::size_t(torus.size()) - 1 + links - 1) / links);
}

TEST_CASE("both cables of a ring of two have a region, and one rank is the gate of both") {
    const Torus torus(std::vector{2, 6});
    const Partition partition = optimal_partition(torus, 0);
    REQUIRE(partition.first.size() == 4);
    require_partition(torus, partition, 0);
    CHECK(largest(partition) == 3);
    CHECK(partition.order[0].size() + partition.order[1].size() >= 5);
}

TEST_CASE("a single rank has no regions") {
    CHECK(optimal_partition(Torus(std::vector{1, 1}), 0).order.empty());
}
