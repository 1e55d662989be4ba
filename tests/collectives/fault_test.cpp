// SPDX-License-Identifier: BSD-3-Clause
// Ranks and cables that are lost in the middle of a collective.
#include <catch2/catch.hpp>

#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/scatter/scatter.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Error;
using torusmp::core::Rank;
using torusmp::routing::Direction;

namespace {

template <class ScheduleType>
bool all_ended(SimulatedGroup<ScheduleType>& simulated, const Job& job,
               const std::vector<Rank>& members) {
    for (int member = 0; member < simulated.size(); ++member)
        if (job.alive(members[std::size_t(member)]) && !simulated[member].complete()) return false;
    return true;
}

// Starts the collective on all, kills after some turns, and checks that every call ends.
template <class ScheduleType, class Start>
void lose_one(bool direct, std::vector<Rank> members, int turns, Start&& start) {
    SimulatedGroup<ScheduleType> simulated;
    Job job(job_of({3, 3, 2}, direct, std::uint64_t(turns) + 1));
    if (members.empty()) members = all_ranks(job);
    simulated.sign_on(job, members);
    for (int member = 0; member < simulated.size(); ++member) start(simulated[member], member);
    for (int i = 0; i < turns; ++i) job.turn();
    const Rank victim = members[members.size() / 2];
    job.kill(victim);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return all_ended(simulated, job, members); }));
    bool all_done = true;  // a collective that was over before has not failed
    for (int member = 0; member < simulated.size(); ++member) {
        if (members[std::size_t(member)] == victim) continue;
        all_done &= simulated[member].error() == Error::none;
        if (simulated[member].error() == Error::none) continue;
        CHECK(simulated[member].error() == Error::unreachable);
        CHECK(simulated[member].failed_peer() == victim);
    }
    if (turns < 50) CHECK_FALSE(all_done);
    job.settle();
    for (const Rank rank : members)
        if (rank != victim) CHECK(job[rank].state().quiet());
}

}  // namespace

TEST_CASE("A rank that dies in a broadcast ends it for all others, and they name it") {
    for (const bool direct : {true, false})
        for (const Wanted algorithm : every(broadcast::algorithms()))
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::vector<std::byte>> data(18, std::vector<std::byte>(60000));
                lose_one<Broadcast>(direct, {}, turns, [&](Broadcast& broadcast, int member) {
                    broadcast.start(data[std::size_t(member)].data(), 60000, 1, algorithm);
                });
            }
}

TEST_CASE("A rank that dies in a reduction ends it for all others, and they name it") {
    for (const bool direct : {true, false})
        for (const Wanted algorithm : every(allreduce::algorithms()))
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::vector<float>> data(18, std::vector<float>(9000));
                lose_one<Allreduce>(direct, {}, turns, [&](Allreduce& allreduce, int member) {
                    allreduce.start(data[std::size_t(member)].data(), 9000, float_sum, algorithm);
                });
            }
}

TEST_CASE("A rank that dies in a scatter or gather ends it for all others, and they name it") {
    for (const bool direct : {true, false})
        for (const std::size_t bytes : {std::size_t(3000), std::size_t(20000)})
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::byte> all(18 * bytes), own(18 * bytes);
                lose_one<Scatter>(direct, {}, turns, [&](Scatter& scatter, int member) {
                    scatter.start(own.data() + bytes * std::size_t(member), bytes, all.data(),
                                  Blocks::even(bytes), 1);
                });
                lose_one<Gather>(direct, {}, turns, [&](Gather& gather, int member) {
                    gather.start(all.data(), Blocks::even(bytes),
                                 own.data() + bytes * std::size_t(member), bytes, 1);
                });
            }
}

TEST_CASE("A rank that dies ends the collectives of its own groups only") {
    SimulatedGroup<Allreduce> without;
    SimulatedGroup<Allreduce> with;
    std::vector<std::vector<float>> data(18, std::vector<float>(9000));
    std::vector<std::vector<float>> more = data;
    Job job(job_of({3, 3, 2}, true));
    const std::vector<Rank> line{0, 1, 2, 3, 4, 5};
    const std::vector<Rank> rest{6, 7, 8, 9, 10, 11};
    without.sign_on(job, line, 7);
    with.sign_on(job, rest, 8);
    for (int member = 0; member < 6; ++member) {
        without[member].start(data[std::size_t(member)].data(), 9000, float_sum);
        with[member].start(more[std::size_t(member)].data(), 9000, float_sum);
    }
    for (int i = 0; i < 20; ++i) job.turn();
    job.kill(8);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return without.complete() && all_ended(with, job, rest); }));
}

TEST_CASE("A cable that dies ends a collective for all members, also for members far from it") {
    for (const int turns : {0, 100, 600}) {
        SimulatedGroup<Allreduce> simulated;
        std::vector<std::vector<float>> data(16, std::vector<float>(20000));
        Job job(job_of({4, 4}, false, std::uint64_t(turns)));
        const auto members = all_ranks(job);
        simulated.sign_on(job, members);
        for (int member = 0; member < simulated.size(); ++member)
            simulated[member].start(data[std::size_t(member)].data(), 20000, float_sum,
                                    named(allreduce::algorithms(), "disjoint"));
        for (int i = 0; i < turns; ++i) job.turn();
        job.kill_link(5, Direction{0, +1});
        INFO(job.report());
        REQUIRE(job.run_until([&] { return all_ended(simulated, job, members); }));
        for (int member = 0; member < simulated.size(); ++member) {
            CHECK(simulated[member].error() == Error::unreachable);
            CHECK(simulated[member].failed_peer() != torusmp::core::any_source);
        }
    }
}
