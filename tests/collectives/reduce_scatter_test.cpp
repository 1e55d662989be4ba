// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce_scatter/reduce_scatter.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "collectives/affine.h"
#include "collectives/scenes.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;

namespace reduce_scatter_test {
namespace {

void add_integers(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<std::uint32_t*>(result)[i] =
            static_cast<const std::uint32_t*>(a)[i] + static_cast<const std::uint32_t*>(b)[i];
}

// Values that must be combined all at once: the first element counts how many the call saw.
void add_whole(void* result, const void* a, const void* b, std::size_t count, const void*) {
    add_integers(result, a, b, count, nullptr);
    static_cast<std::uint32_t*>(result)[0] += std::uint32_t(count) << 16;
}

std::vector<std::size_t> even_counts(const Scene& scene, std::size_t count) {
    return std::vector<std::size_t>(scene.size(), count);
}

std::vector<std::size_t> uneven_counts(const Scene& scene) {
    std::vector<std::size_t> counts;
    for (std::size_t node = 0; node < scene.size(); ++node)
        counts.push_back(node % 3 == 1 ? 0 : node % 4 == 0 ? 700 + node : 3 * node);
    return counts;
}

// The results of all nodes, one behind the other. values[node]: what it contributes.
template <class Value>
std::vector<Value> result_of(const Scene& scene, const std::vector<std::size_t>& counts,
                             const std::vector<std::vector<Value>>& values,
                             const Operation& operation, Wanted algorithm) {
    SimulatedGroup<ReduceScatter> simulated;
    std::vector<Value> result(values[0].size() + 1);
    Job job(scene.options);
    simulated.sign_on(job, scene.members_of(job));
    for (int again = 0; again < 2; ++again) {
        std::size_t offset = 0;
        for (int node = 0; node < simulated.size(); ++node) {
            simulated[node].start(result.data() + offset, values[std::size_t(node)].data(), counts,
                                  operation, algorithm);
            offset += counts[std::size_t(node)];
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
    }
    job.settle();
    CHECK(job.credits_home());
    result.pop_back();
    return result;
}

std::size_t total_of(const std::vector<std::size_t>& counts) {
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    return total;
}

void check_affine(const Scene& scene, const std::vector<std::size_t>& counts, Wanted algorithm) {
    const std::size_t total = total_of(counts);
    std::vector<std::vector<Affine>> values;
    std::vector<Affine> expected(total);
    for (int node = 0; node < int(scene.size()); ++node) {
        values.push_back(contributions(9, node, total));
        compose(expected.data(), expected.data(), values.back().data(), total, nullptr);
    }
    REQUIRE(result_of(scene, counts, values, affine_operation(), algorithm) == expected);
}

void check_sum(const Scene& scene, const std::vector<std::size_t>& counts, Wanted algorithm) {
    const std::size_t total = total_of(counts);
    std::vector<std::vector<std::uint32_t>> values;
    std::vector<std::uint32_t> expected(total);
    for (int node = 0; node < int(scene.size()); ++node) {
        values.emplace_back();
        for (std::size_t i = 0; i < total; ++i) values.back().push_back(contribution(7, node, i).b);
        add_integers(expected.data(), expected.data(), values.back().data(), total, nullptr);
    }
    REQUIRE(result_of(scene, counts, values, {add_integers, sizeof(std::uint32_t)}, algorithm) ==
            expected);
}

}  // namespace

TEST_CASE("A reduce-scatter gives each member its block of the sum, by every algorithm") {
    for (const Scene& scene : scenes())
        for (const Wanted algorithm : automatic_and_every(reduce_scatter::algorithms())) {
            INFO(scene.name);
            for (const std::size_t count : {0, 1, 90, 1500})
                check_sum(scene, even_counts(scene, count), algorithm);
            check_sum(scene, uneven_counts(scene), algorithm);
        }
}

TEST_CASE("A reduce-scatter combines the nodes in order where the operation does not commute") {
    for (const Scene& scene : scenes())
        for (const Wanted algorithm : automatic_and_every(reduce_scatter::algorithms())) {
            INFO(scene.name);
            for (const std::size_t count : {1, 400})
                check_affine(scene, even_counts(scene, count), algorithm);
            check_affine(scene, uneven_counts(scene), algorithm);
        }
}

TEST_CASE("A long reduce-scatter through the area has the same bits as one line by line") {
    for (const Scene& scene : scenes()) {
        if (!scene.options.direct || scene.size() == 1) continue;
        INFO(scene.name);
        const auto counts = even_counts(scene, 700);
        std::vector<std::vector<float>> values;
        for (std::size_t node = 0; node < scene.size(); ++node) {
            values.emplace_back(total_of(counts));
            for (std::size_t i = 0; i < values.back().size(); ++i)
                values.back()[i] = 1.0f / float(1 + (node * 7919 + i * 31) % 10007);
        }
        const auto result = [&](const char* row) {
            return result_of(scene, counts, values, float_sum,
                             named(reduce_scatter::algorithms(), row));
        };
        REQUIRE(result("area") == result("lines"));
    }
}

TEST_CASE("A reduce-scatter shows all elements at once to an operation that asks for it") {
    for (const Scene& scene : scenes()) {
        INFO(scene.name);
        const auto counts = even_counts(scene, 3);
        const std::vector<std::vector<std::uint32_t>> values(
            scene.size(), std::vector<std::uint32_t>(3 * scene.size(), 1));
        Operation operation{add_whole, sizeof(std::uint32_t)};
        operation.whole = true;
        const auto nodes = std::uint32_t(scene.size());
        std::vector<std::uint32_t> expected(3 * scene.size(), nodes);
        expected[0] += (nodes - 1) * 3 * nodes << 16;
        for (const Wanted algorithm : automatic_and_every(reduce_scatter::algorithms()))
            CHECK(result_of(scene, counts, values, operation, algorithm) == expected);
    }
}

TEST_CASE("A reduce-scatter of floats has the same bits in every run") {
    for (Scene scene : scenes())
        for (const Wanted algorithm : automatic_and_every(reduce_scatter::algorithms())) {
            INFO(scene.name);
            const auto counts = even_counts(scene, 33);
            std::vector<std::vector<float>> values;
            for (int node = 0; node < int(scene.size()); ++node) {
                values.emplace_back();
                for (std::size_t i = 0; i < total_of(counts); ++i)
                    values.back().push_back(1e3f / float(3 + contribution(5, node, i).b % 1000));
            }
            const Operation operation{add_floats, sizeof(float)};
            const auto first = result_of(scene, counts, values, operation, algorithm);
            scene.options.seed += 100;
            const auto second = result_of(scene, counts, values, operation, algorithm);
            CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
        }
}

}  // namespace reduce_scatter_test
