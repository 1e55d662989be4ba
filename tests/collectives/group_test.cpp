// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/group.h"

#include <catch2/catch.hpp>

#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;

namespace {

std::vector<int> dims_of(const Group& group) {
    std::vector<int> dims;
    for (int d = 0; d < group.dimensions(); ++d) dims.push_back(group.extent(d));
    return dims;
}

}  // namespace

TEST_CASE("All ranks form the machine's grid without its dimensions of extent 1") {
    Job job(job_of({3, 1, 4}, false));
    const Group group(job[5], all_ranks(job), 1);
    CHECK(dims_of(group) == std::vector<int>{3, 4});
    CHECK(group.member() == 5);
    CHECK(group.coordinate(0) == 1);
    CHECK(group.coordinate(1) == 1);
    CHECK(group.line_rank(0, 2) == 9);
    CHECK(group.line_rank(1, 0) == 4);
    CHECK_FALSE(group.direct());
}

TEST_CASE("A slice of the machine keeps its shape, in whatever order its members are named") {
    Job job(job_of({4, 4}, true));
    // Columns 1 and 3, named backwards.
    const Group group(job[5], {15, 13, 11, 9, 7, 5, 3, 1}, 1);
    CHECK(dims_of(group) == std::vector<int>{4, 2});
    CHECK(group.member() == 5);
    CHECK(group.place() == 2);
    CHECK(group.place_of(0) == 7);
    CHECK(group.member_at(7) == 0);
    CHECK(group.line_rank(1, 1) == 7);
    CHECK(group.direct());
}

TEST_CASE("Members that do not fill a box form a balanced grid") {
    Job job(job_of({4, 4}, false));
    const Group group(job[0], {0, 1, 2, 3, 4, 15}, 1);
    CHECK(dims_of(group) == std::vector<int>{3, 2});
}

TEST_CASE("A group without its own rank, or with a rank twice, is refused") {
    Job job(job_of({4}, false));
    CHECK_THROWS_AS(Group(job[0], {1, 2}, 1), std::invalid_argument);
    CHECK_THROWS_AS(Group(job[0], {0, 1, 1}, 1), std::invalid_argument);
}
