// SPDX-License-Identifier: BSD-3-Clause
// The checking mode: if members call different things, an error names the member that differs.
#include "collectives/schedule/check.h"

#include <catch2/catch.hpp>

#include "collectives/reduce/reduce.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using Catch::Contains;
using torusmp::core::Error;

namespace {

const Policy& checking() {
    static const auto policy = [] {
        auto with_check = default_policy();
        with_check.check = true;
        return with_check;
    }();
    return policy;
}

// Starts a broadcast on all; member 5 calls it in its own way. All end with the same message.
template <class Odd>
std::string words_of(bool direct, Odd&& odd) {
    SimulatedGroup<Broadcast> simulated;
    std::vector<std::vector<std::byte>> data(12, std::vector<std::byte>(64));
    Job job(job_of({3, 2, 2}, direct));
    simulated.sign_on(job, all_ranks(job), 7, checking());
    for (int member = 0; member < 12; ++member) {
        if (member == 5)
            odd(simulated[member], *data[5].data());
        else
            simulated[member].start(data[std::size_t(member)].data(), 64, 2);
    }
    const auto ended = [&] {
        for (int member = 0; member < 12; ++member)
            if (!simulated[member].complete()) return false;
        return true;
    };
    INFO(job.report());
    REQUIRE(job.run_until(ended));
    for (int member = 0; member < 12; ++member) {
        REQUIRE(simulated[member].error() == Error::mismatch);
        REQUIRE(simulated[member].failure() == simulated[0].failure());
    }
    job.settle();
    REQUIRE(job.quiet());
    return simulated[0].failure();
}

}  // namespace

TEST_CASE("Different sizes and roots are detected, and every rank names both ranks") {
    for (const bool direct : {true, false}) {
        const auto sizes = words_of(
            direct, [](Broadcast& broadcast, std::byte& data) { broadcast.start(&data, 60, 2); });
        CHECK_THAT(sizes, Contains("rank 5 called broadcast with root 2 and 60 B"));
        CHECK_THAT(sizes, Contains("root 2 and 64 B"));
        const auto roots = words_of(
            direct, [](Broadcast& broadcast, std::byte& data) { broadcast.start(&data, 64, 11); });
        CHECK_THAT(roots, Contains("rank 5 called broadcast with root 11 and 64 B"));
    }
}

TEST_CASE("Different collectives are detected") {
    SimulatedGroup<Broadcast> broadcasts;
    SimulatedGroup<Allreduce> sums;
    std::vector<float> data(4);
    Job job(job_of({4}, false));
    broadcasts.sign_on(job, all_ranks(job), 7, checking());
    sums.sign_on(job, all_ranks(job), 7, checking());
    for (int member = 0; member < 4; ++member) {
        if (member == 3)
            sums[member].start(&data[3], 1, float_sum);
        else
            broadcasts[member].start(&data[std::size_t(member)], 4, 0);
    }
    REQUIRE(job.run_until([&] {
        return sums[3].complete() && broadcasts[0].complete() && broadcasts[1].complete() &&
               broadcasts[2].complete();
    }));
    CHECK(sums[3].error() == Error::mismatch);
    CHECK_THAT(broadcasts[1].failure(), Contains("rank 3 called allreduce with 4 B"));
    CHECK_THAT(broadcasts[1].failure(), Contains("rank 0 called broadcast with root 0 and 4 B"));
}

TEST_CASE("Calls that agree continue as without the checking mode, repeatedly") {
    SimulatedGroup<Reduce> simulated;
    std::vector<std::vector<float>> data(24, std::vector<float>(9000));
    std::vector<float> result(9000);
    Job job(job_of({4, 3, 2}, false));
    simulated.sign_on(job, all_ranks(job), 7, checking());
    for (const std::size_t count : {std::size_t(9000), std::size_t(1)}) {
        for (int member = 0; member < 24; ++member) {
            data[std::size_t(member)].assign(count, float(member));
            simulated[member].start(result.data(), data[std::size_t(member)].data(), count,
                                    float_sum, 7);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        REQUIRE(result[count - 1] == 276.0f);
    }
}
