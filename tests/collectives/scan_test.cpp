// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scan/scan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/affine.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Rank;

namespace scan_test {
namespace {

void check_scan(const JobOptions& options, std::vector<Rank> members, std::size_t count,
                ScanKind kind, Wanted algorithm) {
    SimulatedGroup<Scan> simulated;
    std::vector<std::vector<Affine>> values;
    Job job(options);
    simulated.sign_on(job, members.empty() ? all_ranks(job) : members);
    for (int member = 0; member < simulated.size(); ++member)
        values.push_back(contributions(options.seed, member, count));
    for (int member = 0; member < simulated.size(); ++member)
        simulated[member].start(values[std::size_t(member)].data(), count, affine_operation(), kind,
                                algorithm);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    std::vector<Affine> sum(count);
    for (int member = 0; member < simulated.size(); ++member) {
        std::vector<Affine> expected = contributions(options.seed, member, count);
        for (std::size_t i = 0; i < count; ++i) {
            const Affine before = sum[i];
            sum[i] = then(before, expected[i]);
            if (kind == ScanKind::inclusive)
                expected[i] = sum[i];
            else if (member > 0)
                expected[i] = before;
        }
        REQUIRE(values[std::size_t(member)] == expected);
    }
    job.settle();
    CHECK(job.credits_home());
}

}  // namespace

TEST_CASE("A scan combines the members before each member in order, by every algorithm") {
    const std::vector<std::vector<int>> shapes{{1},    {2},       {5},       {2, 2},
                                               {3, 4}, {2, 1, 3}, {4, 2, 3}, {6, 6}};
    for (const auto& dims : shapes)
        for (const bool direct : {true, false})
            for (const auto kind : {ScanKind::inclusive, ScanKind::exclusive})
                for (const Wanted algorithm : automatic_and_every(scan::algorithms()))
                    for (const std::size_t count : {0, 1, 600})
                        check_scan(job_of(dims, direct, 3 + count), {}, count, kind, algorithm);
}

TEST_CASE("A scan on an open mesh with two credits per virtual channel and long delays") {
    auto options = job_of({5, 4}, false, 11);
    options.periodic = {false, true};
    options.credits = options.relay_credits = 2;
    options.world.packet = {torusmp::core::testing::sim::Time(1000),
                            torusmp::core::testing::sim::Time(90000)};
    for (const Wanted algorithm : automatic_and_every(scan::algorithms()))
        for (const std::size_t count : {1, 2000})
            check_scan(options, {}, count, ScanKind::inclusive, algorithm);
}

TEST_CASE("A scan follows the order of nodes if ranks have another order") {
    const std::vector<std::vector<Rank>> subsets{
        {11, 0, 3, 7, 5}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {4, 5, 6, 7}, {9, 1, 5}};
    for (const auto& members : subsets)
        for (const bool direct : {true, false})
            for (const Wanted algorithm : automatic_and_every(scan::algorithms()))
                check_scan(job_of({3, 4}, direct, 5), members, 9, ScanKind::exclusive, algorithm);
}

}  // namespace scan_test
