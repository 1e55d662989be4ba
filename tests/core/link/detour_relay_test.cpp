// SPDX-License-Identifier: BSD-3-Clause
// Relays of the detour of a dead link that stop or die.

#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "core/job.h"
#include "core/traffic.h"
#include "routing/detours.h"

namespace detour_relay_test {

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;
using routing::Link;

namespace {

constexpr Link dead{0, 0};  // from rank 0 to the next in dimension 0

JobOptions torus(std::uint64_t seed) {
    JobOptions options = detour_torus({4, 3}, seed);
    options.world.notifies = seed % 2 == 0;
    options.world.places = seed % 3 == 0;
    return options;
}

// The ranks between the two ends.
std::vector<Rank> relays_of(const routing::Torus& shape) {
    const std::vector<Link> links{dead};
    const routing::Detours detours(shape, links);
    std::vector<Rank> relays;
    const auto path = detours.around(dead.rank, dead.direction()).value();
    for (const routing::Hop& hop : path) relays.push_back(hop.rank);
    relays.pop_back();
    return relays;
}

// Messages from one rank to another that are under way.
struct Batch {
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<std::byte>> out, in;

    void start(Job& job, Rank from, Rank to, int count) {
        for (int n = 0; n < count; ++n) {
            const std::size_t bytes = n % 5 == 0 ? 5000 : n % 5 == 1 ? 400 : 8;
            out.emplace_back(bytes);
            in.emplace_back(bytes);
            fill(out.back().data(), bytes, std::uint64_t(n));
            sends.emplace_back();
            receives.emplace_back();
            job[to].receive(receives.back(), Buffer(in.back().data(), bytes), from, 0, 1);
            job[from].send(sends.back(), Buffer(out.back().data(), bytes), to, 0, 1);
        }
    }
    bool complete() const {
        for (const auto& it : sends)
            if (!it.complete()) return false;
        for (const auto& it : receives)
            if (!it.complete()) return false;
        return true;
    }
    void require_right() const {
        for (std::size_t n = 0; n < in.size(); ++n) {
            REQUIRE(sends[n].status().error == Error::none);
            REQUIRE(receives[n].status().error == Error::none);
            REQUIRE(filled(in[n].data(), in[n].size(), n));
        }
    }
};

}  // namespace

TEST_CASE("a rank on a detour that stops delays the packets that it relays, and loses none",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    Batch batch;
    Job job(torus(seed));
    const Rank to = routing::far_end(job.torus(), dead);
    const std::vector<Rank> relays = relays_of(job.torus());
    REQUIRE_FALSE(relays.empty());
    job.cut_link(dead.rank, dead.direction());
    job.settle();
    batch.start(job, dead.rank, to, 20);
    for (std::uint64_t n = 0; n < seed; ++n) job.turn();
    job.stop(relays.front());
    job.settle();
    REQUIRE_FALSE(batch.complete());
    job.go_on(relays.front());
    job.settle();
    INFO(job.report());
    REQUIRE(batch.complete());
    batch.require_right();
    REQUIRE(job.quiet());
}

TEST_CASE("no rank is given up for a returned cable while a rank on the path computes",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 25));
    CAPTURE(seed);
    Batch batch;
    Job job(detour_torus({4}, seed));
    job.cut_link(0, {0, +1});
    job.settle();  // until the ranks give up that cable
    // From now on rank 3 does not relay: rank 2 does not hear that the first cable is back, and
    // the ranks give up the second cable, too.
    job.stop(3);
    batch.start(job, 1, 2, 20);
    job.cut_link(1, {0, +1});
    for (std::uint64_t n = 0; n < seed % 4; ++n) job.turn();
    job.revive_link(0, {0, +1});
    job.settle();
    REQUIRE_FALSE(batch.complete());
    job.go_on(3);
    job.settle();
    INFO(job.report());
    REQUIRE(batch.complete());
    batch.require_right();
    REQUIRE(job.quiet());
}

TEST_CASE("a rank on a detour that dies ends only the requests that need it", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 25));
    CAPTURE(seed);
    Batch batch;
    Job job(torus(seed));
    const Rank to = routing::far_end(job.torus(), dead);
    const Rank victim = relays_of(job.torus()).front();
    job.cut_link(dead.rank, dead.direction());
    if (seed % 4 != 0) job.settle();
    batch.start(job, dead.rank, to, 20);
    for (std::uint64_t n = 0; n < 3 * seed; ++n) job.turn();
    const bool reported = seed % 2 == 0;  // by the launcher, or only by the cables
    job.kill(victim);
    if (reported)
        for (Rank rank = 0; rank < job.size(); ++rank)
            if (rank != victim) job[rank].peer_died(victim, "the launcher says so");
    job.settle();
    INFO(job.report());
    REQUIRE(batch.complete());
    batch.require_right();
    REQUIRE(job.quiet());
    for (const Rank end : {dead.rank, to}) REQUIRE_FALSE(job[end].state().fault_of(victim).empty());
}

TEST_CASE("frames that arrive together with the close of the next link are dropped",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    Batch batch;
    Job job(torus(seed));
    const Rank to = routing::far_end(job.torus(), dead);
    const std::vector<Link> links{dead};
    const auto path = routing::Detours(job.torus(), links).around(dead.rank, dead.direction());
    const Rank relay = path.value().at(0).rank;
    const auto onward = std::uint32_t(path.value().at(1).direction.index());
    job.cut_link(dead.rank, dead.direction());
    job.settle();
    job.stop(relay);
    transport::PacketHeader header{};
    header.source = 1'000'000;
    job.world().inject(job.interface(relay, onward), onward, header, {});
    job.world().advance(sim::Time(1'000'000));  // it is there before the frames
    batch.start(job, dead.rank, to, 20);
    job.settle();
    job.go_on(relay);
    job.settle();
    INFO(job.report());
    CHECK(job.has_logged("a wrong virtual channel, source"));
    REQUIRE(batch.complete());
    batch.require_right();
}

TEST_CASE("a dead rank's links end as soon as the launcher says that it is dead",
          "[core][detour]") {
    JobOptions options = torus(1);
    options.world.cable_within = sim::Time(60'000'000'000);  // the cables alone would take so long
    Job job(options);
    job.cut_link(dead.rank, dead.direction());
    job.settle();
    const Rank victim = routing::far_end(job.torus(), dead);
    ReceiveRequest receive;
    std::byte buffer[8];
    job[0].receive(receive, Buffer(buffer, sizeof buffer), victim, 0, 1);
    job.kill(victim);
    for (Rank rank = 0; rank < job.size(); ++rank)
        if (rank != victim) job[rank].peer_died(victim, "the launcher says so");
    const auto before = job.world().now();
    REQUIRE(job.run_until([&] { return receive.complete() && job[0].state().faults() != 0; }));
    REQUIRE(job.world().now() - before < sim::Time(10'000'000));
    REQUIRE(receive.status().error == Error::unreachable);
    job.settle();
}

}  // namespace detour_relay_test
