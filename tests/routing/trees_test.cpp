// SPDX-License-Identifier: BSD-3-Clause
#include "routing/trees.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <set>
#include <utility>

#include "random_torus.h"
#include "routing/ways.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

// Every rank is reached from the root over links of the torus, and its depth is that path's length.
void require_spanning(const Torus& torus, const SpanningTree& tree, Rank root) {
    const auto size = std::size_t(torus.size());
    REQUIRE(tree.root == root);
    REQUIRE((tree.parent.size() == size && tree.by.size() == size && tree.depth.size() == size));
    REQUIRE((tree.parent[std::size_t(root)] == root && tree.by[std::size_t(root)] == -1));
    REQUIRE(tree.depth[std::size_t(root)] == 0);
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (rank == root) continue;
        CAPTURE(rank);
        const Rank parent = tree.parent[std::size_t(rank)];
        const auto by = Direction::from_index(tree.by[std::size_t(rank)]);
        REQUIRE(torus.neighbour(parent, by) == rank);
        REQUIRE(tree.depth[std::size_t(rank)] == tree.depth[std::size_t(parent)] + 1);
    }
}

int longest_distance(const Torus& torus, Rank from) {
    int longest = 0;
    for (Rank to = 0; to < torus.size(); ++to)
        longest = std::max(longest, torus.distance(from, to));
    return longest;
}

void require_disjoint(const Torus& torus, const std::vector<SpanningTree>& trees, Rank root) {
    std::set<std::pair<Rank, int>> arcs;
    int longest = 0;
    for (int d = 0; d < torus.dimensions(); ++d) longest += torus.extent(d);
    for (const SpanningTree& tree : trees) {
        require_spanning(torus, tree, root);
        REQUIRE(tree.height() <= longest);
        for (Rank rank = 0; rank < torus.size(); ++rank) {
            if (rank == root) continue;
            CAPTURE(rank);
            REQUIRE(
                arcs.insert({tree.parent[std::size_t(rank)], tree.by[std::size_t(rank)]}).second);
        }
    }
}

int arcs_into(const Torus& torus, Rank rank) {
    int arcs = 0;
    for (int i = 0; i < 2 * torus.dimensions(); ++i) {
        arcs += torus.neighbour(rank, Direction::from_index(i)).has_value() ? 1 : 0;
    }
    return arcs;
}

Torus named(const std::vector<int>& dims, const std::vector<bool>& periodic = {}) {
    return Torus(dims, periodic);
}

}  // namespace

TEST_CASE("the dimension-ordered tree reaches every rank on a shortest path") {
    Random random{std::uint32_t(GENERATE(range(0, 60)))};
    const Torus torus = random_shape(random, 300).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const SpanningTree tree = dimension_ordered_tree(torus, root);
    require_spanning(torus, tree, root);
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        CAPTURE(rank);
        REQUIRE(tree.depth[std::size_t(rank)] == torus.distance(root, rank));
        // The dimensions come in order: a step never has a lower dimension than the step before.
        const Rank parent = tree.parent[std::size_t(rank)];
        REQUIRE(
            (parent == root || tree.by[std::size_t(parent)] / 2 <= tree.by[std::size_t(rank)] / 2));
    }
    REQUIRE(tree.height() == longest_distance(torus, root));
}

TEST_CASE("the dimension-ordered tree of a torus is as high as the halves of its rings") {
    CHECK(dimension_ordered_tree(named({8, 8}), 5).height() == 8);
    CHECK(dimension_ordered_tree(named({4, 8, 8}), 77).height() == 10);
    CHECK(dimension_ordered_tree(named({5, 7, 3}), 100).height() == 6);
    CHECK(dimension_ordered_tree(named({2, 2, 2, 2, 2, 2}), 63).height() == 6);
}

TEST_CASE("disjoint trees span, share no arc, and are as many as promised") {
    Random random{std::uint32_t(GENERATE(range(0, 150)))};
    const Torus torus = random_shape(random, 300).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const auto trees = disjoint_trees(torus, root);
    REQUIRE(int(trees.size()) == disjoint_tree_count(torus));
    require_disjoint(torus, trees, root);
}

TEST_CASE("disjoint trees are not much higher than the furthest rank is away") {
    const auto [dims, most] = GENERATE(table<std::vector<int>, int>(
        {{{8, 8}, 12}, {{4, 4, 2}, 7}, {{4, 4, 4}, 7}, {{4, 8, 8}, 14}, {{5, 7, 3}, 9}}));
    const Torus torus = named(dims);
    CAPTURE(torus.describe());
    for (const SpanningTree& tree : disjoint_trees(torus, 1)) CHECK(tree.height() <= most);
}

TEST_CASE("disjoint trees use all links of a corner, except for rings of two beside open lines") {
    Random random{std::uint32_t(GENERATE(range(0, 150)))};
    const Torus torus = random_shape(random, 300).torus();
    CAPTURE(torus.describe());
    int twos = 0;
    bool open = false;
    for (int d = 0; d < torus.dimensions(); ++d) {
        twos += torus.periodic(d) && torus.extent(d) == 2 ? 1 : 0;
        open |= !torus.periodic(d) && torus.extent(d) > 1;
    }
    REQUIRE(disjoint_tree_count(torus) == arcs_into(torus, 0) - (open ? twos : 0));
}

TEST_CASE("every mix of small rings and lines has its disjoint trees from every root") {
    // Extents 1 to 4, each a ring or a line, in three dimensions.
    for (int code = 0; code < 8 * 8 * 8; ++code) {
        std::vector<int> dims;
        std::vector<bool> periodic;
        for (int rest = code, d = 0; d < 3; ++d, rest /= 8) {
            dims.push_back(1 + rest % 4);
            periodic.push_back(rest % 8 >= 4);
        }
        const Torus torus(dims, periodic);
        CAPTURE(torus.describe());
        for (Rank root = 0; root < torus.size(); root += 1 + torus.size() / 8) {
            CAPTURE(root);
            const auto trees = disjoint_trees(torus, root);
            REQUIRE(int(trees.size()) == disjoint_tree_count(torus));
            require_disjoint(torus, trees, root);
        }
    }
}

TEST_CASE("a torus gives two disjoint trees a dimension, both cables of a ring of two among them") {
    CHECK(disjoint_trees(named({4, 8, 8}), 3).size() == 6);
    CHECK(disjoint_trees(named({2, 2, 2}), 0).size() == 6);
    CHECK(disjoint_trees(named({2}), 1).size() == 2);
    CHECK(disjoint_trees(named({4, 8, 8}, {false, false, false}), 3).size() == 3);
    CHECK(disjoint_trees(named({4, 1, 8}, {true, true, false}), 3).size() == 3);
    CHECK(disjoint_trees(named({1, 1}), 0).empty());
}

TEST_CASE("the balanced tree has shortest paths and no choice of arcs has a smaller maximum") {
    Random random{std::uint32_t(GENERATE(range(0, 80)))};
    const Torus torus = random_shape(random, 300).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const SpanningTree tree = arc_balanced_tree(torus, root);
    require_spanning(torus, tree, root);
    for (int depth = 1; depth <= tree.height(); ++depth) {
        std::vector<int> used(std::size_t(2 * max_dimensions), 0);
        std::vector<int> confined(std::size_t(1) << (2 * torus.dimensions()), 0);
        for (Rank rank = 0; rank < torus.size(); ++rank) {
            REQUIRE(tree.depth[std::size_t(rank)] == torus.distance(root, rank));
            if (tree.depth[std::size_t(rank)] != depth) continue;
            ++used[std::size_t(tree.by[std::size_t(rank)])];
            // The last steps of shortest paths are first steps of the way back.
            unsigned ways = 0;
            for (const Direction back : first_directions(torus, rank, root)) {
                ways |= 1U << back.opposite().index();
            }
            ++confined[ways];
        }
        // Hall's theorem: ranks with no way outside a set share the ways of the set.
        int bound = 0;
        for (int bit = 0; bit < 2 * torus.dimensions(); ++bit) {
            for (unsigned set = 0; set < confined.size(); ++set) {
                if ((set >> bit & 1U) != 0) confined[set] += confined[set & ~(1U << bit)];
            }
        }
        for (unsigned set = 1; set < confined.size(); ++set) {
            const int ways = std::popcount(set);
            bound = std::max(bound, (confined[set] + ways - 1) / ways);
        }
        REQUIRE(*std::max_element(used.begin(), used.end()) == bound);
    }
}

TEST_CASE("the balanced tree of a torus loads all directions equally in each step") {
    for (const auto& dims : {std::vector{4, 8, 8}, std::vector{8, 8}, std::vector{5, 7, 3},
                             std::vector{4, 4, 2}, std::vector{2, 2, 2}}) {
        const Torus torus = named(dims);
        CAPTURE(torus.describe());
        std::vector<int> used(2 * dims.size(), 0);
        const SpanningTree tree = arc_balanced_tree(torus);
        for (Rank rank = 1; rank < torus.size(); ++rank)
            ++used[std::size_t(tree.by[std::size_t(rank)])];
        const auto [least, most] = std::minmax_element(used.begin(), used.end());
        CHECK(*most - *least <= 2);
        CHECK(*most <= (torus.size() - 1) / int(used.size()) + 1);
    }
}

TEST_CASE("the children of a rank are those that name it as their parent") {
    const Torus torus = named({3, 4});
    const SpanningTree tree = dimension_ordered_tree(torus, 0);
    const auto children = tree.children(0);
    REQUIRE(children.size() == 4);
    for (const Hop& child : children) {
        CHECK(torus.neighbour(0, child.direction) == child.rank);
        CHECK(tree.parent[std::size_t(child.rank)] == 0);
    }
    CHECK(tree.children(torus.rank({0, 2})).empty());
}
