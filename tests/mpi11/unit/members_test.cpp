// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/members.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace torusmp::mpi;

namespace {

using Random = std::mt19937;

Members random_members(Random& random, int highest) {
    std::vector<Rank> all;
    for (Rank rank = 0; rank <= highest; ++rank) all.push_back(rank);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    all.resize(random() % (all.size() + 1));
    return Members(all);
}

std::set<Rank> set_of(const Members& members) {
    return {members.ranks().begin(), members.ranks().end()};
}

// Returns whether the common ranks are in the order of the first group.
bool keeps_order(const Members& result, const Members& of) {
    int last = -1;
    for (const Rank rank : result.ranks()) {
        const int position = of.index_of(rank);
        if (position < 0) continue;
        if (position < last) return false;
        last = position;
    }
    return true;
}

}  // namespace

TEST_CASE("every member is found at its place, and other ranks are not found") {
    Random random(3);
    for (int round = 0; round < 50; ++round) {
        const Members members = random_members(random, 20);
        for (int i = 0; i < members.size(); ++i) CHECK(members.index_of(members[i]) == i);
        const auto set = set_of(members);
        for (Rank rank = -3; rank < 25; ++rank)
            CHECK(members.contains(rank) == (set.count(rank) == 1));
    }
}

TEST_CASE("the algebra of groups equals the algebra of sets, in the order of the first group") {
    Random random(5);
    for (int round = 0; round < 200; ++round) {
        const Members a = random_members(random, 12), b = random_members(random, 12);
        const auto sa = set_of(a), sb = set_of(b);
        std::set<Rank> expected = sa;
        expected.insert(sb.begin(), sb.end());
        const Members both = unite(a, b);
        CHECK(set_of(both) == expected);
        CHECK(std::equal(a.ranks().begin(), a.ranks().end(), both.ranks().begin()));
        CHECK(keeps_order(Members({both.ranks().begin() + a.size(), both.ranks().end()}), b));
        expected.clear();
        std::set_intersection(sa.begin(), sa.end(), sb.begin(), sb.end(),
                              std::inserter(expected, expected.end()));
        CHECK(set_of(intersect(a, b)) == expected);
        CHECK(keeps_order(intersect(a, b), a));
        expected.clear();
        std::set_difference(sa.begin(), sa.end(), sb.begin(), sb.end(),
                            std::inserter(expected, expected.end()));
        CHECK(set_of(subtract(a, b)) == expected);
        CHECK(keeps_order(subtract(a, b), a));
    }
}

TEST_CASE("the selected and the other places together are the group") {
    Random random(7);
    for (int round = 0; round < 50; ++round) {
        const Members group = random_members(random, 15);
        std::vector<int> positions;
        for (int i = group.size() - 1; i >= 0; --i)
            if (random() % 2 == 0) positions.push_back(i);
        const Members chosen = include(group, positions), others = exclude(group, positions);
        REQUIRE(chosen.size() == int(positions.size()));
        for (int i = 0; i < chosen.size(); ++i)
            CHECK(chosen[i] == group[positions[std::size_t(i)]]);
        CHECK(others.size() + chosen.size() == group.size());
        CHECK(keeps_order(others, group));
        CHECK(compare(unite(chosen, others), group) != Likeness::different);
    }
}

TEST_CASE("groups are the same, permuted or different") {
    CHECK(compare(Members({1, 2, 3}), Members({1, 2, 3})) == Likeness::same);
    CHECK(compare(Members({1, 2, 3}), Members({3, 1, 2})) == Likeness::permuted);
    CHECK(compare(Members({1, 2, 3}), Members({1, 2})) == Likeness::different);
    CHECK(compare(Members({1, 2, 3}), Members({1, 2, 4})) == Likeness::different);
    CHECK(compare(Members(), Members()) == Likeness::same);
}

TEST_CASE("ranges go up and down and end when the stride passes the last") {
    CHECK(positions_in_range(0, 6, 2) == std::vector<int>{0, 2, 4, 6});
    CHECK(positions_in_range(0, 7, 3) == std::vector<int>{0, 3, 6});
    CHECK(positions_in_range(6, 0, -2) == std::vector<int>{6, 4, 2, 0});
    CHECK(positions_in_range(3, 3, 100) == std::vector<int>{3});
    CHECK(positions_in_range(2147483646, 2147483647, 2147483647) == std::vector<int>{2147483646});
}
