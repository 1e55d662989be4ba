// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allreduce/allreduce.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Rank;

namespace {

// Records the order of all contributions: associative, does not commute.
struct Word {
    char letters[64];
};
void append(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i) {
        Word word = static_cast<const Word*>(a)[i];
        std::strcat(word.letters, static_cast<const Word*>(b)[i].letters);
        static_cast<Word*>(result)[i] = word;
    }
}

float contribution(int member, std::size_t i) {
    return float(1.0 / (3.0 + member * 7 + double(i % 97))) * (member % 3 == 0 ? -1e3f : 1.0f);
}

// The result on all; the test fails unless all have the same bits. Every other member has its
// result apart from its values, which must not change.
std::vector<float> sum_of(const JobOptions& options, Wanted algorithm, std::size_t count) {
    SimulatedGroup<Allreduce> simulated;
    std::vector<std::vector<float>> values, results;
    Job job(options);
    simulated.sign_on(job, all_ranks(job));
    for (int member = 0; member < simulated.size(); ++member) {
        values.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i) values.back()[i] = contribution(member, i);
    }
    results = values;
    const auto is_apart = [](int member) { return member % 2 == 0; };
    for (int member = 0; member < simulated.size(); ++member) {
        float* const result = results[std::size_t(member)].data();
        const float* const own = is_apart(member) ? values[std::size_t(member)].data() : result;
        if (is_apart(member)) std::fill_n(result, count, -1.0f);
        simulated[member].start(result, own, count, float_sum, algorithm);
    }
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    for (int member = 0; member < simulated.size(); ++member) {
        const auto& other = results[std::size_t(member)];
        REQUIRE(std::memcmp(other.data(), results[0].data(), count * sizeof(float)) == 0);
        for (std::size_t i = 0; i < count; ++i)
            REQUIRE(values[std::size_t(member)][i] == contribution(member, i));
    }
    job.settle();
    CHECK(job.credits_home());
    return results[0];
}

const std::vector<std::vector<int>> shapes{{1},    {2},       {5},       {2, 2},
                                           {3, 4}, {2, 1, 3}, {4, 2, 3}, {6, 6}};

}  // namespace

TEST_CASE(
    "A sum has the same bits on every rank, by every algorithm, over links and direct paths") {
    for (const auto& dims : shapes) {
        for (const std::size_t count : {std::size_t(1), std::size_t(7), std::size_t(3000)}) {
            const auto tree =
                sum_of(job_of(dims, true), named(allreduce::algorithms(), "lines"), count);
            double expected = 0.0;
            int ranks = 1;
            for (const int extent : dims) ranks *= extent;
            for (int member = 0; member < ranks; ++member) expected += contribution(member, 0);
            CHECK(tree[0] == Approx(expected).margin(1e-2));
            for (const bool direct : {true, false})
                for (const Wanted algorithm : automatic_and_every(allreduce::algorithms())) {
                    if (algorithm == named(allreduce::algorithms(), "disjoint")) continue;
                    const auto other = sum_of(job_of(dims, direct, 3 + count), algorithm, count);
                    CHECK(std::memcmp(tree.data(), other.data(), count * sizeof(float)) == 0);
                }
        }
    }
}

TEST_CASE("An operation that does not commute gets the members in the order of their places") {
    for (const Wanted algorithm : every(allreduce::algorithms())) {
        for (const bool direct : {true, false}) {
            SimulatedGroup<Allreduce> simulated;
            std::vector<std::array<Word, 3>> words;
            Job job(job_of({2, 4, 3}, direct));
            simulated.sign_on(job, all_ranks(job));
            Operation operation{append, sizeof(Word)};
            // Disjoint trees keep no order: the operation must say that it needs one.
            operation.commutative = algorithm != named(allreduce::algorithms(), "disjoint");
            std::string expected;
            for (int member = 0; member < simulated.size(); ++member) {
                expected += char('a' + member);
                words.emplace_back();
                for (auto& word : words.back()) {
                    std::memset(&word, 0, sizeof word);
                    word.letters[0] = char('a' + member);
                }
            }
            for (int member = 0; member < simulated.size(); ++member)
                simulated[member].start(words[std::size_t(member)].data(), 3, operation, algorithm);
            REQUIRE(job.run_until([&] { return simulated.complete(); }));
            for (const auto& three : words)
                for (const auto& word : three) REQUIRE(word.letters == expected);
        }
    }
}

TEST_CASE("A schedule can be used again, and many schedules can run at the same time") {
    constexpr int at_once = 5;
    std::vector<int> values(at_once * 12);
    const Operation sum{
        [](void* result, const void* a, const void* b, std::size_t count, const void*) {
            for (std::size_t i = 0; i < count; ++i)
                static_cast<int*>(result)[i] =
                    static_cast<const int*>(a)[i] + static_cast<const int*>(b)[i];
        },
        sizeof(int)};
    // Five schedules on each rank's group: they must share its tags.
    std::vector<std::unique_ptr<Group>> groups;
    std::deque<Allreduce> schedules;
    Job job(job_of({3, 4}, false));
    for (Rank rank = 0; rank < job.size(); ++rank) {
        groups.push_back(std::make_unique<Group>(job[rank], all_ranks(job), 9));
        for (int k = 0; k < at_once; ++k) schedules.emplace_back(*groups.back());
    }
    for (int round = 0; round < 20; ++round) {
        for (Rank rank = 0; rank < job.size(); ++rank)
            for (int k = 0; k < at_once; ++k) {
                int& value = values[std::size_t(rank * at_once + k)];
                value = rank * (k + 1) + round;
                schedules[std::size_t(rank * at_once + k)].start(
                    &value, 1, sum,
                    k % 2 ? named(allreduce::algorithms(), "lines")
                          : named(allreduce::algorithms(), "exchange"));
            }
        REQUIRE(job.run_until([&] {
            return std::all_of(schedules.begin(), schedules.end(),
                               [](const Allreduce& schedule) { return schedule.complete(); });
        }));
        for (Rank rank = 0; rank < job.size(); ++rank)
            for (int k = 0; k < at_once; ++k)
                REQUIRE(values[std::size_t(rank * at_once + k)] == 66 * (k + 1) + 12 * round);
    }
}

TEST_CASE("A small sum takes fewer messages between ranks that share cores, with the same result") {
    std::array<std::uint64_t, 2> packets{};
    std::array<float, 2> sums{};
    for (const bool shares : {false, true}) {
        JobOptions options = job_of({2, 2, 2}, false);
        options.shares_cores = shares;
        SimulatedGroup<Allreduce> simulated;
        std::vector<float> values;
        Job job(options);
        simulated.sign_on(job, all_ranks(job));
        for (int member = 0; member < simulated.size(); ++member)
            values.push_back(contribution(member, 0));
        const auto before = job.world().counters().packets;
        for (int member = 0; member < simulated.size(); ++member)
            simulated[member].start(&values[std::size_t(member)], 1, float_sum);
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        packets[shares] = job.world().counters().packets - before;
        sums[shares] = values.front();
        CHECK(std::all_of(values.begin(), values.end(),
                          [&](float value) { return value == values.front(); }));
    }
    CHECK(packets[0] == 8 * 3);
    CHECK(packets[1] == 2 * 7);
    CHECK(sums[0] == sums[1]);
}

TEST_CASE("No rank leaves a barrier before the last has entered") {
    for (const auto& dims : shapes) {
        SimulatedGroup<Allreduce> simulated;
        Job job(job_of(dims, false));
        simulated.sign_on(job, all_ranks(job));
        for (int member = 0; member + 1 < simulated.size(); ++member)
            simulated[member].start_barrier();
        job.settle();
        for (int member = 0; member + 1 < simulated.size(); ++member)
            CHECK_FALSE(simulated[member].complete());
        simulated[simulated.size() - 1].start_barrier();
        CHECK(job.run_until([&] { return simulated.complete(); }));
    }
}

TEST_CASE("A schedule that waits names the member that it waits for") {
    SimulatedGroup<Allreduce> simulated;
    float value = 1.0f;
    Job job(job_of({2}, true));
    simulated.sign_on(job, all_ranks(job));
    simulated[0].start(&value, 1, float_sum);
    job.settle();
    CHECK_THAT(simulated[0].describe(), Catch::Contains("allreduce waits for rank 1"));
    float other = 2.0f;
    simulated[1].start(&other, 1, float_sum);
    CHECK(job.run_until([&] { return simulated.complete(); }));
    CHECK(value == 3.0f);
}

TEST_CASE("A rank that dies during a reduction ends it with an error that names the rank") {
    SimulatedGroup<Allreduce> simulated;
    std::vector<float> values(4, 1.0f);
    Job job(job_of({4}, true));
    simulated.sign_on(job, all_ranks(job));
    for (int member = 0; member < 3; ++member)
        simulated[member].start(&values[std::size_t(member)], 1, float_sum,
                                named(allreduce::algorithms(), "exchange"));
    job.settle();
    job.kill(3);
    for (Rank rank = 0; rank < 3; ++rank) job[rank].peer_died(3, "killed by the test");
    REQUIRE(job.run_until([&] {
        return simulated[0].complete() && simulated[1].complete() && simulated[2].complete();
    }));
    for (int member = 0; member < 3; ++member) {
        CHECK(simulated[member].error() == torusmp::core::Error::unreachable);
        CHECK(simulated[member].failed_peer() == 3);
    }
}

TEST_CASE("256 ranks of a 4x8x8 torus add up, over its links alone") {
    const auto sum = sum_of(job_of({4, 8, 8}, false), nullptr, 2);
    CHECK(sum.size() == 2);
}
