// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allgather/allgather.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/group/bundles.h"
#include "collectives/scenes.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::testing::fill;
using torusmp::core::testing::filled;
using torusmp::routing::Direction;

namespace {

// Sizes by node; each member starts twice, with its own block apart and in place.
void check_allgather(const Scene& scene, const std::vector<std::size_t>& sizes, bool even,
                     Wanted algorithm) {
    SimulatedGroup<Allgather> simulated;
    std::vector<std::vector<std::byte>> in;
    std::vector<std::vector<std::byte>> out;
    Job job(scene.options);
    simulated.sign_on(job, scene.members_of(job));
    const auto nodes = std::size_t(simulated.size());
    // Blocks of different sizes lie backwards and apart from each other.
    std::vector<std::size_t> offsets(nodes);
    std::size_t total = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
        const std::size_t which = even ? node : nodes - 1 - node;
        offsets[which] = total;
        total += sizes[which] + (even ? 0 : 3);
    }
    const Blocks blocks = even ? Blocks::even(sizes[0]) : Blocks::each(sizes, offsets);
    in.assign(nodes, std::vector<std::byte>(total + 1));
    for (std::size_t node = 0; node < nodes; ++node) out.emplace_back(sizes[node] + 1);
    for (const bool in_place : {false, true}) {
        const std::uint64_t round = in_place ? 5000 : 1000;
        for (std::size_t node = 0; node < nodes; ++node) {
            std::fill(in[node].begin(), in[node].end(), std::byte{0});
            std::byte* own = in_place ? in[node].data() + offsets[node] : out[node].data();
            fill(own, sizes[node], round + node);
            simulated[int(node)].start(in[node].data(), blocks, in_place ? nullptr : own,
                                       algorithm);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        for (const auto& all : in) {
            bool right = all[total] == std::byte{0};
            for (std::size_t node = 0; node < nodes; ++node)
                right = right && filled(all.data() + offsets[node], sizes[node], round + node) &&
                        (even || std::all_of(all.data() + offsets[node] + sizes[node],
                                             all.data() + offsets[node] + sizes[node] + 3,
                                             [](std::byte gap) { return gap == std::byte{0}; }));
            REQUIRE(right);
        }
    }
    job.settle();
    CHECK(job.credits_home());
}

}  // namespace

TEST_CASE("In an allgather every member gets the blocks of all, by every algorithm") {
    for (const Scene& scene : scenes())
        for (const Wanted algorithm : automatic_and_every(allgather::algorithms()))
            for (const std::size_t bytes : {0, 9, 700, 5000}) {
                INFO(scene.name);
                const std::vector<std::size_t> sizes(scene.size(), bytes);
                check_allgather(scene, sizes, true, algorithm);
            }
}

TEST_CASE("In an allgather blocks may have different sizes and lie anywhere") {
    for (const Scene& scene : scenes())
        for (const Wanted algorithm : automatic_and_every(allgather::algorithms())) {
            INFO(scene.name);
            std::vector<std::size_t> sizes;
            for (std::size_t node = 0; node < scene.size(); ++node)
                sizes.push_back(node % 3 == 0 ? 0 : node % 5 == 1 ? 3000 + node : 7 * node);
            check_allgather(scene, sizes, false, algorithm);
        }
}

TEST_CASE("Bundles bring every block to every member once, from a member that has it") {
    struct Shape {
        std::vector<int> dims;
        std::vector<bool> periodic;
    };
    const std::vector<Shape> shapes{{{1}, {true}},
                                    {{2}, {true}},
                                    {{2}, {false}},
                                    {{7}, {true}},
                                    {{6}, {false}},
                                    {{2, 2}, {true, true}},
                                    {{4, 5}, {true, true}},
                                    {{4, 5}, {false, true}},
                                    {{3, 4}, {false, false}},
                                    {{4, 2, 3}, {true, true, true}},
                                    {{2, 4, 4}, {true, false, true}},
                                    {{2, 2, 2, 2, 2, 2}, {}}};
    for (const Shape& shape : shapes) {
        const torusmp::routing::Torus torus(shape.dims, shape.periodic);
        INFO(torus.describe());
        std::vector<Bundles> all;
        int steps = 0;
        for (int me = 0; me < torus.size(); ++me) {
            all.emplace_back(torus, me);
            steps = std::max(steps, all.back().steps());
        }
        const auto ranks = std::size_t(torus.size());
        std::vector<std::vector<bool>> has(ranks, std::vector<bool>(ranks));
        for (std::size_t me = 0; me < ranks; ++me) has[me][me] = true;
        for (int step = 1; step <= steps; ++step) {
            const auto had = has;
            for (int me = 0; me < torus.size(); ++me) {
                const Bundles& mine = all[std::size_t(me)];
                if (step > mine.steps()) continue;
                for (const Direction from : mine.directions()) {
                    const auto origins = mine.in(step, from);
                    const auto neighbour = torus.neighbour(me, from);
                    if (origins.empty()) continue;
                    REQUIRE(neighbour);
                    const auto theirs = all[std::size_t(*neighbour)].out(step, from.opposite());
                    REQUIRE(std::vector<int>(origins.begin(), origins.end()) ==
                            std::vector<int>(theirs.begin(), theirs.end()));
                    for (const int origin : origins) {
                        REQUIRE(had[std::size_t(*neighbour)][std::size_t(origin)]);
                        REQUIRE_FALSE(has[std::size_t(me)][std::size_t(origin)]);
                        has[std::size_t(me)][std::size_t(origin)] = true;
                    }
                }
            }
        }
        for (const auto& row : has) CHECK(std::count(row.begin(), row.end(), true) == torus.size());
    }
}

TEST_CASE(
    "On a torus without open dimensions all links carry the same in an allgather, except for two "
    "blocks") {
    for (const std::vector<int>& dims : std::vector<std::vector<int>>{
             {7}, {8}, {4, 4}, {8, 8}, {4, 8, 8}, {2, 2, 2}, {5, 7, 3}, {4, 4, 2}}) {
        const torusmp::routing::Torus torus(dims);
        INFO(torus.describe());
        const Bundles bundles(torus, 0);
        std::size_t least = std::size_t(torus.size());
        std::size_t most = 0;
        for (const Direction direction : bundles.directions()) {
            std::size_t blocks = 0;
            for (int step = 1; step <= bundles.steps(); ++step)
                blocks += bundles.out(step, direction).size();
            least = std::min(least, blocks);
            most = std::max(most, blocks);
        }
        CHECK(most - least <= 2);
        int longest = 0;
        for (const int extent : dims) longest += extent / 2;
        CHECK(bundles.steps() == longest);
    }
}
