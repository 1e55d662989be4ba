// A rank or a cable is lost in the middle of a collective.
#include <catch2/catch.hpp>

#include "collectives/crew.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/scatter/scatter.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Error;
using torusmp::core::Rank;
using torusmp::routing::Direction;

namespace {

template <class ScheduleType>
bool all_ended(Crew<ScheduleType>& crew, const Job& job, const std::vector<Rank>& members) {
    for (int node = 0; node < crew.size(); ++node)
        if (job.alive(members[std::size_t(node)]) && !crew[node].complete()) return false;
    return true;
}

// Starts the collective on all, kills after some turns, and checks that every call ends.
template <class ScheduleType, class Start>
void lose_one(bool direct, std::vector<Rank> members, int turns, Start&& start) {
    Crew<ScheduleType> crew;
    Job job(job_of({3, 3, 2}, direct, std::uint64_t(turns) + 1));
    if (members.empty()) members = all_ranks(job);
    crew.sign_on(job, members);
    for (int node = 0; node < crew.size(); ++node) start(crew[node], node);
    for (int i = 0; i < turns; ++i) job.turn();
    const Rank victim = members[members.size() / 2];
    job.kill(victim);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return all_ended(crew, job, members); }));
    bool all_done = true;  // a collective that was over before has not failed
    for (int node = 0; node < crew.size(); ++node) {
        if (members[std::size_t(node)] == victim) continue;
        all_done &= crew[node].error() == Error::none;
        if (crew[node].error() == Error::none) continue;
        CHECK(crew[node].error() == Error::unreachable);
        CHECK(crew[node].failed_peer() == victim);
    }
    if (turns < 50) CHECK_FALSE(all_done);
    job.settle();
    for (const Rank rank : members)
        if (rank != victim) CHECK(job[rank].state().quiet());
}

}  // namespace

TEST_CASE("A rank that dies in a broadcast ends it for all others, with its name") {
    for (const bool direct : {true, false})
        for (const Wanted algorithm : every(broadcast::algorithms()))
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::vector<std::byte>> data(18, std::vector<std::byte>(60000));
                lose_one<Broadcast>(direct, {}, turns, [&](Broadcast& broadcast, int node) {
                    broadcast.start(data[std::size_t(node)].data(), 60000, 1, algorithm);
                });
            }
}

TEST_CASE("A rank that dies in a reduction ends it for all others, with its name") {
    for (const bool direct : {true, false})
        for (const Wanted algorithm : every(allreduce::algorithms()))
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::vector<float>> data(18, std::vector<float>(9000));
                lose_one<Allreduce>(direct, {}, turns, [&](Allreduce& allreduce, int node) {
                    allreduce.start(data[std::size_t(node)].data(), 9000, float_sum, algorithm);
                });
            }
}

TEST_CASE("A rank that dies in a scatter or gather ends it for all others, with its name") {
    for (const bool direct : {true, false})
        for (const std::size_t bytes : {std::size_t(3000), std::size_t(20000)})
            for (const int turns : {0, 40, 300, 2000}) {
                std::vector<std::byte> all(18 * bytes), own(18 * bytes);
                lose_one<Scatter>(direct, {}, turns, [&](Scatter& scatter, int node) {
                    scatter.start(own.data() + bytes * std::size_t(node), bytes, all.data(),
                                  Blocks::even(bytes), 1);
                });
                lose_one<Gather>(direct, {}, turns, [&](Gather& gather, int node) {
                    gather.start(all.data(), Blocks::even(bytes),
                                 own.data() + bytes * std::size_t(node), bytes, 1);
                });
            }
}

TEST_CASE("A rank that dies ends the collectives of its own groups only") {
    Crew<Allreduce> without;
    Crew<Allreduce> with;
    std::vector<std::vector<float>> data(18, std::vector<float>(9000));
    std::vector<std::vector<float>> more = data;
    Job job(job_of({3, 3, 2}, true));
    const std::vector<Rank> line{0, 1, 2, 3, 4, 5};
    const std::vector<Rank> rest{6, 7, 8, 9, 10, 11};
    without.sign_on(job, line, 7);
    with.sign_on(job, rest, 8);
    for (int node = 0; node < 6; ++node) {
        without[node].start(data[std::size_t(node)].data(), 9000, float_sum);
        with[node].start(more[std::size_t(node)].data(), 9000, float_sum);
    }
    for (int i = 0; i < 20; ++i) job.turn();
    job.kill(8);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return without.complete() && all_ended(with, job, rest); }));
}

TEST_CASE("A cable that dies ends a collective for all members, also those far from it") {
    for (const int turns : {0, 100, 1000}) {
        Crew<Allreduce> crew;
        std::vector<std::vector<float>> data(16, std::vector<float>(20000));
        Job job(job_of({4, 4}, false, std::uint64_t(turns)));
        const auto members = all_ranks(job);
        crew.sign_on(job, members);
        for (int node = 0; node < crew.size(); ++node)
            crew[node].start(data[std::size_t(node)].data(), 20000, float_sum,
                             named(allreduce::algorithms(), "disjoint"));
        for (int i = 0; i < turns; ++i) job.turn();
        job.kill_link(5, Direction{0, +1});
        INFO(job.report());
        REQUIRE(job.run_until([&] { return all_ended(crew, job, members); }));
        for (int node = 0; node < crew.size(); ++node) {
            CHECK(crew[node].error() == Error::unreachable);
            CHECK(crew[node].failed_peer() != torusmp::core::any_source);
        }
    }
}
