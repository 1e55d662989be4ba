// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/alltoall/alltoall.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/scenes.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::testing::fill;
using torusmp::core::testing::filled;

namespace alltoall_test {
namespace {

// The blocks of all nodes in a buffer, with gaps, in an order of its own.
struct Laid {
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> offsets;
    std::vector<std::byte> memory;
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
};

template <class SizeOf>
Laid lay(std::size_t nodes, std::size_t first, SizeOf&& size_of) {
    Laid laid;
    laid.sizes.resize(nodes);
    laid.offsets.resize(nodes);
    std::size_t end = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t node = (first + i) % nodes;
        laid.sizes[node] = size_of(node);
        laid.offsets[node] = end;
        end += laid.sizes[node] + 2;
    }
    laid.memory.resize(end);
    return laid;
}

bool gaps_untouched(const Laid& laid) {
    for (std::size_t node = 0; node < laid.sizes.size(); ++node)
        for (std::size_t i = 0; i < 2; ++i)
            if (laid.memory[laid.offsets[node] + laid.sizes[node] + i] != std::byte{0})
                return false;
    return true;
}

void check_even(const Scene& scene, std::size_t block, Wanted algorithm) {
    SimulatedGroup<Alltoall> simulated;
    std::vector<std::vector<std::byte>> out;
    std::vector<std::vector<std::byte>> in;
    Job job(scene.options);
    simulated.sign_on(job, scene.members_of(job));
    const auto nodes = std::size_t(simulated.size());
    in.assign(nodes, std::vector<std::byte>(block * nodes + 1));
    out = in;
    for (std::size_t round : {0, 1}) {
        for (std::size_t a = 0; a < nodes; ++a) {
            for (std::size_t b = 0; b < nodes; ++b)
                fill(out[a].data() + b * block, block, round + a * 1000 + b);
            simulated[int(a)].start(in[a].data(), Blocks::even(block), out[a].data(),
                                    Blocks::even(block), algorithm);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        bool right = true;
        for (std::size_t a = 0; a < nodes; ++a) {
            right = right && in[a].back() == std::byte{0};
            for (std::size_t b = 0; b < nodes; ++b)
                right = right && filled(in[a].data() + b * block, block, round + b * 1000 + a);
        }
        REQUIRE(right);
    }
    job.settle();
    CHECK(job.credits_home());
}

}  // namespace

TEST_CASE("In an alltoall of even blocks each block comes from its sender, by every algorithm") {
    for (const Scene& scene : scenes())
        for (const Wanted algorithm : automatic_and_every(alltoall::algorithms()))
            for (const std::size_t block : {0, 5, 1200, 5000}) {
                INFO(scene.name);
                check_even(scene, block, algorithm);
            }
}

TEST_CASE("In an alltoall every pair of nodes may have a size of its own") {
    for (const Scene& scene : scenes()) {
        INFO(scene.name);
        const auto size_of = [](std::size_t from, std::size_t to) {
            const std::size_t mixed = from * 31 + to * 17;
            return mixed % 4 == 0 ? 0 : mixed % 9 == 1 ? 4000 + mixed : mixed % 50;
        };
        SimulatedGroup<Alltoall> simulated;
        std::vector<Laid> out;
        std::vector<Laid> in;
        Job job(scene.options);
        simulated.sign_on(job, scene.members_of(job));
        const auto nodes = std::size_t(simulated.size());
        for (std::size_t a = 0; a < nodes; ++a) {
            out.push_back(lay(nodes, a, [&](std::size_t b) { return size_of(a, b); }));
            in.push_back(lay(nodes, 2 * a, [&](std::size_t b) { return size_of(b, a); }));
            for (std::size_t b = 0; b < nodes; ++b)
                fill(out[a].memory.data() + out[a].offsets[b], out[a].sizes[b], a * 1000 + b);
        }
        for (std::size_t a = 0; a < nodes; ++a)
            simulated[int(a)].start(in[a].memory.data(), in[a].blocks(), out[a].memory.data(),
                                    out[a].blocks());
        INFO(job.report());
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        bool right = true;
        for (std::size_t a = 0; a < nodes; ++a) {
            right = right && gaps_untouched(in[a]);
            for (std::size_t b = 0; b < nodes; ++b)
                right = right && filled(in[a].memory.data() + in[a].offsets[b], in[a].sizes[b],
                                        b * 1000 + a);
        }
        CHECK(right);
        job.settle();
        CHECK(job.credits_home());
    }
}

TEST_CASE("A member whose blocks have all arrived before it enters an alltoall ends immediately") {
    // Its sends are complete at once too, so nothing moves afterwards to wake it.
    for (const Wanted algorithm : automatic_and_every(alltoall::algorithms())) {
        SimulatedGroup<Alltoall> simulated;
        std::vector<std::vector<std::byte>> out(3, std::vector<std::byte>(3 * 5));
        std::vector<std::vector<std::byte>> in = out;
        Job job(job_of({3}, true));
        simulated.sign_on(job, all_ranks(job));
        const auto start = [&](int node) {
            simulated[node].start(in[std::size_t(node)].data(), Blocks::even(5),
                                  out[std::size_t(node)].data(), Blocks::even(5), algorithm);
        };
        start(0);
        start(1);
        job.settle();
        start(2);
        CHECK(simulated[2].complete());
        CHECK(job.run_until([&] { return simulated.complete(); }));
    }
}

}  // namespace alltoall_test
