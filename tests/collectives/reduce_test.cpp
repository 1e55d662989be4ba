// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/reduce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Rank;

namespace reduce_test {
namespace {

// Affine maps x -> a x + b modulo 2^32, one after the other: associative, does not commute.
struct Map {
    std::uint32_t a, b;
    friend bool operator==(const Map&, const Map&) = default;
};
Map then(Map first, Map second) {
    return {second.a * first.a, second.a * first.b + second.b};
}
void compose(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<Map*>(result)[i] =
            then(static_cast<const Map*>(a)[i], static_cast<const Map*>(b)[i]);
}
Operation composition() {
    Operation operation{compose, sizeof(Map)};
    operation.commutative = false;
    return operation;
}

struct Machine {
    std::vector<int> dims;
    std::vector<bool> periodic;
};
const std::vector<Machine> machines{{{1}, {}},
                                    {{2}, {}},
                                    {{5}, {false}},
                                    {{4, 4, 2}, {}},
                                    {{3, 4}, {false, true}},
                                    {{3, 3, 2}, {false, false, false}}};

JobOptions job_on(const Machine& machine, std::uint64_t seed) {
    JobOptions options = job_of(machine.dims, false, seed);
    options.periodic = machine.periodic;
    options.credits = options.relay_credits = 2;
    return options;
}

float contribution(int member, std::size_t i) {
    return float(1.0 / (3.0 + member * 7 + double(i % 97))) * (member % 3 == 0 ? -1e3f : 1.0f);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

using Vectors = std::vector<std::vector<float>>;

Vectors contributions(int nodes, std::size_t count) {
    Vectors values(static_cast<std::size_t>(nodes));
    for (int member = 0; member < nodes; ++member)
        for (std::size_t i = 0; i < count; ++i)
            values[std::size_t(member)].push_back(contribution(member, i));
    return values;
}

std::vector<float> allreduced(const Machine& machine, std::size_t count, std::uint64_t seed) {
    SimulatedGroup<Allreduce> simulated;
    Vectors values;
    Job job(job_on(machine, seed));
    simulated.sign_on(job, all_ranks(job));
    values = contributions(simulated.size(), count);
    for (int member = 0; member < simulated.size(); ++member)
        simulated[member].start(values[std::size_t(member)].data(), count, float_sum,
                                named(allreduce::algorithms(), "disjoint"));
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    for (const auto& other : values) REQUIRE(same_bits(other, values[0]));
    job.settle();
    CHECK(job.credits_home());
    return values[0];
}

std::vector<float> reduced(const Machine& machine, std::size_t count, int root, Wanted algorithm,
                           std::uint64_t seed) {
    SimulatedGroup<Reduce> simulated;
    Vectors values;
    std::vector<float> result(count + 1, 42.0f);
    Job job(job_on(machine, seed));
    simulated.sign_on(job, all_ranks(job));
    values = contributions(simulated.size(), count);
    const Vectors before = values;
    for (int member = 0; member < simulated.size(); ++member)
        simulated[member].start(member == root ? result.data() : nullptr,
                                values[std::size_t(member)].data(), count, float_sum, root,
                                algorithm);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    REQUIRE(values == before);  // what members give stays as it is
    REQUIRE(result.back() == 42.0f);
    result.pop_back();
    job.settle();
    CHECK(job.credits_home());
    return result;
}

void check_sum(const std::vector<float>& result, int nodes) {
    for (std::size_t i = 0; i < result.size(); i += 61) {
        double expected = 0;
        for (int member = 0; member < nodes; ++member) expected += contribution(member, i);
        REQUIRE(result[i] == Approx(expected).margin(2e-2));
    }
}

int nodes_of(const Machine& machine) {
    int nodes = 1;
    for (const int extent : machine.dims) nodes *= extent;
    return nodes;
}

}  // namespace

TEST_CASE("A sum along the disjoint trees has the same bits on every rank and in every run") {
    for (const Machine& machine : machines)
        for (const std::size_t count : {std::size_t(0), std::size_t(5), std::size_t(40000)}) {
            const auto first = allreduced(machine, count, 1);
            const auto second = allreduced(machine, count, 2);
            REQUIRE(same_bits(first, second));
            check_sum(first, nodes_of(machine));
        }
}

TEST_CASE("A reduction reaches any root by every algorithm, and has the same bits in every run") {
    for (const Machine& machine : machines)
        for (const Wanted algorithm : every(reduce::algorithms()))
            for (const std::size_t count : {std::size_t(3), std::size_t(9000)}) {
                const int root = int(count * 7) % nodes_of(machine);
                const auto first = reduced(machine, count, root, algorithm, 1);
                const auto second = reduced(machine, count, root, algorithm, 2);
                REQUIRE(same_bits(first, second));
                check_sum(first, nodes_of(machine));
            }
}

TEST_CASE("A sum in parts has the same bits as a sum along lines, at any root") {
    const Wanted lines = named(reduce::algorithms(), "lines");
    const Wanted scatter = named(reduce::algorithms(), "scatter");
    for (const Machine& machine : machines)
        for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(9001)}) {
            const int nodes = nodes_of(machine);
            for (const int root : {0, nodes / 2, nodes - 1})
                REQUIRE(same_bits(reduced(machine, count, root, scatter, 1),
                                  reduced(machine, count, root, lines, 2)));
        }
}

TEST_CASE("Reductions that do not commute combine the nodes in order") {
    for (const bool direct : {true, false})
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            SimulatedGroup<Reduce> reduces;
            SimulatedGroup<Allreduce> allreduces;
            std::vector<std::vector<Map>> given, all;
            const std::size_t count = seed % 2 == 0 ? 2000 : 1;
            Job job(job_of({3, 2, 4}, direct, seed));
            auto members = all_ranks(job);
            std::shuffle(members.begin(), members.end(), std::mt19937(unsigned(seed)));
            if (seed > 2) members.resize(11);
            reduces.sign_on(job, members, 7);
            allreduces.sign_on(job, members, 8);
            std::vector<Map> expected(count, Map{1, 0});
            for (int member = 0; member < reduces.size(); ++member) {
                given.emplace_back();
                for (std::size_t i = 0; i < count; ++i) {
                    given.back().push_back({std::uint32_t(member * 2 + 3), std::uint32_t(i + 7)});
                    expected[i] = then(expected[i], given.back().back());
                }
            }
            all = given;
            // In place at the root.
            const int root = int(seed) % reduces.size();
            for (int member = 0; member < reduces.size(); ++member) {
                auto* own = given[std::size_t(member)].data();
                reduces[member].start(nullptr, own, count, composition(), root);
                allreduces[member].start(all[std::size_t(member)].data(), count, composition());
            }
            INFO(job.report());
            REQUIRE(job.run_until([&] { return reduces.complete() && allreduces.complete(); }));
            REQUIRE(given[std::size_t(root)] == expected);
            for (const auto& of_one : all) REQUIRE(of_one == expected);
        }
}

TEST_CASE("An operation that needs the whole vector gets it whole") {
    struct Closure {
        std::size_t expected;
    };
    const auto whole_sum = [](void* result, const void* a, const void* b, std::size_t count,
                              const void* closure) {
        REQUIRE(count == static_cast<const Closure*>(closure)->expected);
        add_floats(result, a, b, count, nullptr);
    };
    Closure closure{30000};
    const Operation operation{whole_sum, sizeof(float), &closure, true};
    for (const Wanted algorithm : automatic_and_every(reduce::algorithms())) {
        SimulatedGroup<Reduce> simulated;
        Vectors values;
        Job job(job_on(machines[3], 5));
        simulated.sign_on(job, all_ranks(job));
        values = contributions(simulated.size(), closure.expected);
        for (int member = 0; member < simulated.size(); ++member) {
            auto* own = values[std::size_t(member)].data();
            simulated[member].start(own, own, closure.expected, operation, 9, algorithm);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        check_sum(values[9], simulated.size());
    }
}

}  // namespace reduce_test
