// SPDX-License-Identifier: BSD-3-Clause
// Agreements in which a member takes no part of its own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/job.h"
#include "core/survivors/agreements.h"

namespace torusmp::core::testing::agreements_test {

constexpr Context context = 1;

TEST_CASE("members do not wait for one that abstains, and know that it does", "[core][survivors]") {
    const int ranks = GENERATE(2, 3, 5, 40);
    const bool dies = GENERATE(false, true);
    JobOptions options = detour_torus({ranks}, 3);
    options.tolerates_deaths = true;
    const auto count = std::size_t(ranks);
    std::vector<Agreement> agreements(count);
    std::vector<Rank> members;
    for (Rank rank = 0; rank < ranks; ++rank) members.push_back(rank);
    Job job(options);
    const Rank absent = ranks / 2;
    job[absent].survivors().agreements().abstain(context, members);
    REQUIRE(job[absent].state().waits().operations.empty());
    job[absent].survivors().agreements().close(context);
    if (dies) job.kill(absent);
    for (Rank rank = 0; rank < ranks; ++rank)
        if (rank != absent)
            job[rank].survivors().agreements().begin(agreements[std::size_t(rank)], context, members);
    REQUIRE(job.run_until([&] {
        return std::all_of(agreements.begin(), agreements.end(),
                           [](const Agreement& it) { return it.complete(); });
    }));
    for (Rank rank = 0; rank < ranks && !dies; ++rank)
        if (rank != absent) REQUIRE(agreements[std::size_t(rank)].value().flags == 0);
    job.settle();
    if (!dies) REQUIRE(job[absent].survivors().agreements().kept() <= 2);
}

}  // namespace torusmp::core::testing::agreements_test
