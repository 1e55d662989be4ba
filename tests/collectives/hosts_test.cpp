// SPDX-License-Identifier: BSD-3-Clause
// Groups that span hosts with several ranks each.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "collectives/reduce/reduce.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Rank;

namespace {

JobOptions job_of_hosts(int per_host, std::uint64_t seed) {
    JobOptions options = job_of({2, 3, 4}, false, seed);
    options.per_host = per_host;
    options.world.mapped = seed % 2 == 0;  // then the ranks of a host have an area
    return options;
}

// All ranks, or some of them in another order.
std::vector<Rank> members_of(const Job& job, std::uint64_t seed) {
    auto members = all_ranks(job);
    if (seed % 2 == 0) {
        std::shuffle(members.begin(), members.end(), std::mt19937(unsigned(seed)));
        members.resize(13);
    }
    return members;
}

using Vectors = std::vector<std::vector<float>>;

Vectors contributions(int nodes, std::size_t count) {
    Vectors values(static_cast<std::size_t>(nodes));
    for (int member = 0; member < nodes; ++member)
        for (std::size_t i = 0; i < count; ++i)
            values[std::size_t(member)].push_back(float(member + 1) / 3.0f + float(i % 7));
    return values;
}

void check_sum(const std::vector<float>& result, int nodes) {
    for (std::size_t i = 0; i < result.size(); i += 61) {
        double expected = 0;
        for (int member = 0; member < nodes; ++member)
            expected += (member + 1) / 3.0 + double(i % 7);
        REQUIRE(result[i] == Approx(expected));
    }
}

Vectors allreduced(int per_host, std::size_t count, std::uint64_t seed, std::uint64_t delays) {
    SimulatedGroup<Allreduce> simulated;
    Vectors values;
    Job job(job_of_hosts(per_host, delays));
    simulated.sign_on(job, members_of(job, seed));
    REQUIRE(simulated.groups[0]->hosts() != nullptr);
    values = contributions(simulated.size(), count);
    for (int member = 0; member < simulated.size(); ++member)
        simulated[member].start(values[std::size_t(member)].data(), count, float_sum);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    check_sum(values[0], simulated.size());
    for (const auto& other : values)
        REQUIRE(std::memcmp(other.data(), values[0].data(), count * sizeof(float)) == 0);
    job.settle();
    CHECK(job.credits_home());
    return values;
}

}  // namespace

TEST_CASE("Only groups with several hosts, and several members on one of them, work by hosts") {
    Job job(job_of_hosts(2, 1));
    Group all(job[0], all_ranks(job), 7);
    REQUIRE(all.hosts() != nullptr);
    CHECK(all.hosts()->local.members() == std::vector<Rank>{0, 1});
    REQUIRE(all.hosts()->leaders != nullptr);
    CHECK(all.hosts()->leaders->size() == 12);
    // The first ranks of all hosts are a torus of their own.
    CHECK(all.hosts()->leaders->torus().describe() == "2x3x2");
    Group second(job[1], all_ranks(job), 7);
    REQUIRE(second.hosts() != nullptr);
    CHECK(second.hosts()->leaders == nullptr);
    Group spread(job[0], {0, 2, 4}, 7);
    CHECK(spread.hosts() == nullptr);
    Group host(job[0], {1, 0}, 7);
    CHECK(host.hosts() == nullptr);
}

TEST_CASE("A sum over hosts has the same bits on every rank and in every run") {
    for (const int per_host : {2, 4, 12})
        for (const std::uint64_t seed : {1, 2})
            for (const std::size_t count : {std::size_t(1), std::size_t(9000)})
                REQUIRE(allreduced(per_host, count, seed, 1) ==
                        allreduced(per_host, count, seed, 2));
}

TEST_CASE("Broadcasts and reductions over hosts work with any root") {
    for (const int per_host : {2, 4})
        for (const std::uint64_t seed : {1, 2})
            for (const std::size_t count : {std::size_t(5), std::size_t(9000)}) {
                SimulatedGroup<Reduce> reduces;
                SimulatedGroup<Broadcast> broadcasts;
                Vectors values;
                Job job(job_of_hosts(per_host, seed));
                reduces.sign_on(job, members_of(job, seed), 7);
                broadcasts.sign_on(job, members_of(job, seed), 8);
                for (int root = 0; root < reduces.size(); root += 5) {
                    values = contributions(reduces.size(), count);
                    const Vectors before = values;
                    std::vector<float> result(count);
                    for (int member = 0; member < reduces.size(); ++member)
                        reduces[member].start(member == root ? result.data() : nullptr,
                                              values[std::size_t(member)].data(), count, float_sum,
                                              root);
                    INFO(job.report());
                    REQUIRE(job.run_until([&] { return reduces.complete(); }));
                    check_sum(result, reduces.size());
                    REQUIRE(values == before);
                    for (int member = 0; member < broadcasts.size(); ++member)
                        broadcasts[member].start(values[std::size_t(member)].data(),
                                                 count * sizeof(float), root);
                    REQUIRE(job.run_until([&] { return broadcasts.complete(); }));
                    for (const auto& of_one : values) REQUIRE(of_one == before[std::size_t(root)]);
                }
            }
}

TEST_CASE("A barrier over hosts holds all members until the last has entered") {
    SimulatedGroup<Allreduce> simulated;
    Job job(job_of_hosts(4, 3));
    simulated.sign_on(job, all_ranks(job));
    for (int member = 0; member < simulated.size(); ++member)
        if (member != 13) simulated[member].start_barrier();
    job.settle();
    for (int member = 0; member < simulated.size(); ++member)
        if (member != 13) REQUIRE_FALSE(simulated[member].complete());
    simulated[13].start_barrier();
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
}

// Each rank has several under way on one group, and reaches their parts in an order of its own.
TEST_CASE("Concurrent collectives over hosts do not mix") {
    constexpr std::size_t count = 3000;
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        struct Calls {
            explicit Calls(Group& group)
                : first(group), second(group), sum(group), reduce(group), last(group) {}
            Broadcast first, second;
            Allreduce sum;
            Reduce reduce;
            Broadcast last;
            bool complete() const {
                return first.complete() && second.complete() && sum.complete() &&
                       reduce.complete() && last.complete();
            }
        };
        SimulatedGroup<Calls> simulated;
        std::vector<Vectors> values;  // by call, then by member
        std::vector<float> result(count);
        Job job(job_of_hosts(4, seed));
        for (const Rank rank : all_ranks(job)) {
            simulated.groups.push_back(std::make_unique<Group>(job[rank], all_ranks(job), 7));
            simulated.schedules.emplace_back(*simulated.groups.back());
        }
        const int nodes = simulated.size();
        for (int call = 0; call < 5; ++call) values.push_back(contributions(nodes, count));
        const auto data = [&](int call, int member) {
            return values[std::size_t(call)][std::size_t(member)].data();
        };
        for (int member = 0; member < nodes; ++member) {
            Calls& calls = simulated[member];
            calls.first.start(data(0, member), count * sizeof(float), 9);
            calls.second.start(data(1, member), count * sizeof(float), 22);
            calls.sum.start(data(2, member), count, float_sum);
            calls.reduce.start(member == 6 ? result.data() : nullptr, data(3, member), count,
                               float_sum, 6);
            calls.last.start(data(4, member), count * sizeof(float), 1);
            for (std::uint64_t i = 0; i < seed * 7; ++i) job.turn();
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            for (const Calls& calls : simulated.schedules)
                if (!calls.complete()) return false;
            return true;
        }));
        const Vectors before = contributions(nodes, count);
        check_sum(result, nodes);
        for (int member = 0; member < nodes; ++member) {
            REQUIRE(values[0][std::size_t(member)] == before[9]);
            REQUIRE(values[1][std::size_t(member)] == before[22]);
            check_sum(values[2][std::size_t(member)], nodes);
            REQUIRE(values[4][std::size_t(member)] == before[1]);
        }
    }
}

TEST_CASE("A rank that dies ends a collective over hosts for all others, and they name it") {
    for (const int turns : {0, 30, 80, 160}) {
        SimulatedGroup<Allreduce> simulated;
        Vectors values;
        Job job(job_of_hosts(4, std::uint64_t(turns)));
        simulated.sign_on(job, all_ranks(job));
        values = contributions(simulated.size(), 9000);
        for (int member = 0; member < simulated.size(); ++member)
            simulated[member].start(values[std::size_t(member)].data(), 9000, float_sum);
        for (int i = 0; i < turns; ++i) job.turn();
        job.kill(10);
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            for (int member = 0; member < simulated.size(); ++member)
                if (member != 10 && !simulated[member].complete()) return false;
            return true;
        }));
        for (int member = 0; member < simulated.size(); ++member)
            if (member != 10) CHECK(simulated[member].failed_peer() == 10);
    }
}
