// SPDX-License-Identifier: BSD-3-Clause
// The relay of packets, hop by hop, with two credits per virtual channel, on tori and
// meshes of every shape. No deadlock, order kept, every packet and credit accounted for.

#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "traffic.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace relay_test {
namespace {

struct Wiring {
    std::vector<int> dims;
    std::vector<bool> periodic;
};

JobOptions two_credits(const Wiring& shape, std::uint64_t seed) {
    JobOptions options = tight_torus(shape.dims, seed);
    options.periodic = shape.periodic;
    options.world.packet = {sim::Time(500), sim::Time(5000), 0.02, sim::Time(40'000)};
    return options;
}

void run_to_rest(Traffic& traffic) {
    if (!traffic.run()) FAIL(traffic.stuck());
    traffic.job().settle();
    INFO(traffic.job().report());
    REQUIRE(traffic.job().quiet());
    REQUIRE(traffic.job().credits_home());
    REQUIRE(traffic.job().world().in_flight() == 0);
    REQUIRE(traffic.job().log().empty());
}

struct Sums {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t relayed = 0;
};

Sums add_up(Job& job) {
    Sums sums;
    for (Rank rank = 0; rank < job.size(); ++rank)
        for (const auto& connection : job[rank].state().connections()) {
            if (!connection.link) continue;
            sums.sent += connection.statistics.packets_sent;
            sums.received += connection.statistics.packets_received;
            sums.bytes_sent += connection.statistics.bytes_sent;
            sums.bytes_received += connection.statistics.bytes_received;
            sums.relayed += connection.statistics.relayed;
        }
    return sums;
}

// Both ends of each link counted the same packets.
void check_links(Job& job) {
    for (Rank rank = 0; rank < job.size(); ++rank)
        for (const auto& here : job[rank].state().connections()) {
            if (!here.link) continue;
            bool found = false;
            for (const auto& there : job[here.peer].state().connections()) {
                if (!there.link || there.peer != rank || !(*there.link == here.link->opposite()))
                    continue;
                found = true;
                CAPTURE(rank, here.peer, here.link->index());
                REQUIRE(here.statistics.packets_sent == there.statistics.packets_received);
                REQUIRE(here.statistics.bytes_sent == there.statistics.bytes_received);
            }
            REQUIRE(found);
        }
}

}  // namespace

TEST_CASE("with two credits per virtual channel all messages arrive in order on any torus or mesh",
          "[core][relay]") {
    const Wiring shape = GENERATE(
        Wiring{{4, 4, 4}, {}}, Wiring{{3, 5, 2}, {}}, Wiring{{2, 2, 2}, {}}, Wiring{{3, 3, 1}, {}},
        Wiring{{8}, {}}, Wiring{{8}, {false}}, Wiring{{2}, {}}, Wiring{{4, 4}, {false, true}},
        Wiring{{5, 3, 2}, {false, false, false}}, Wiring{{3, 2, 1, 3, 2, 2}, {}},
        Wiring{{2, 2, 2, 2, 2, 2}, {}}, Wiring{{3, 1, 3, 2, 1, 3}, {true, true, false}});
    const std::uint64_t seed = GENERATE(1, 2);
    Wiring full = shape;
    if (!full.periodic.empty()) full.periodic.resize(full.dims.size(), true);
    TrafficOptions options;
    options.messages = 1500;
    Traffic traffic(two_credits(full, seed), options);
    INFO("torus " << traffic.job().torus().describe() << " seed " << seed);
    run_to_rest(traffic);
    check_links(traffic.job());
}

TEST_CASE("with two credits per virtual channel large messages flow through the relay in packets",
          "[core][relay]") {
    const sim::Remote way = GENERATE(sim::Remote::refused, sim::Remote::mixed);
    TrafficOptions options;
    options.messages = 300;
    options.length = [](sim::Random& random, std::size_t limit) {
        return std::size_t(random.below(40 * limit));
    };
    JobOptions job = two_credits({{3, 4, 2}, {}}, 5);
    job.world.write = job.world.read = way;
    Traffic traffic(job, options);
    run_to_rest(traffic);
    check_links(traffic.job());
}

TEST_CASE("hosts of several ranks relay to their own ranks, too", "[core][relay]") {
    const int per_host = GENERATE(2, 4, 8);
    JobOptions job = two_credits({{3, 4, 4}, {}}, std::uint64_t(per_host));
    job.per_host = per_host;  // of 4 and more: some ranks of a host are no neighbours
    TrafficOptions options;
    options.messages = 1000;
    Traffic traffic(job, options);
    run_to_rest(traffic);
    for (Rank rank = 0; rank < traffic.job().size(); ++rank)
        for (const auto& info : traffic.job()[rank].state().connections()) REQUIRE_FALSE(info.down);
}

TEST_CASE("rings that fill from all sides at the same time do not deadlock", "[core][relay]") {
    // Everybody sends as far as can be, the same way round: the worst for finite slots on a ring.
    const std::vector<int> dims = GENERATE(std::vector{7}, std::vector{5, 5}, std::vector{5, 4, 3});
    const std::uint64_t seed = GENERATE(range(1, 5));
    JobOptions options = two_credits({dims, {}}, seed);
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<std::byte>> buffers;
    Job job(options);
    const routing::Torus& torus = job.torus();
    for (int n = 0; n < 40; ++n)
        for (Rank rank = 0; rank < job.size(); ++rank) {
            auto to = torus.coordinates(rank);
            for (int d = 0; d < torus.dimensions(); ++d)
                to[std::size_t(d)] =
                    (to[std::size_t(d)] + (torus.extent(d) - 1) / 2) % torus.extent(d);
            const Rank peer = torus.rank(to);
            buffers.emplace_back(300);
            fill(buffers.back().data(), 300, std::uint64_t(rank * 1000 + n));
            sends.emplace_back();
            job[rank].send(sends.back(), Buffer(buffers.back().data(), 300), peer, 0, rank);
            buffers.emplace_back(300);
            receives.emplace_back();
            job[peer].receive(receives.back(), Buffer(buffers.back().data(), 300), rank, 0, rank);
        }
    job.settle();
    INFO(job.report());
    std::size_t open = 0;
    for (const ReceiveRequest& receive : receives) open += !receive.complete();
    for (const SendRequest& send : sends) open += !send.complete();
    REQUIRE(open == 0);
    for (std::size_t i = 0; i < buffers.size(); i += 2) REQUIRE(buffers[i] == buffers[i + 1]);
    REQUIRE(job.credits_home());
}

TEST_CASE("the statistics of all connections add up to the paths of the messages",
          "[core][relay][statistics]") {
    TrafficOptions options;
    options.messages = 3000;
    options.synchronous = 0.0;
    options.length = [](sim::Random& random, std::size_t limit) {
        return std::size_t(random.below(limit));  // each message is one packet
    };
    const Wiring shape = GENERATE(Wiring{{4, 3, 2}, {}}, Wiring{{6}, {false}});
    Traffic traffic(two_credits(shape, 11), options);
    run_to_rest(traffic);
    check_links(traffic.job());
    const Sums sums = add_up(traffic.job());
    REQUIRE(sums.sent == traffic.hops());
    REQUIRE(sums.received == traffic.hops());
    REQUIRE(sums.relayed == traffic.relayed());
    REQUIRE(sums.bytes_sent == sums.bytes_received);
}

TEST_CASE("256 runtimes of a 4x8x8 torus exchange messages in one process", "[core][relay]") {
    JobOptions options = two_credits({{4, 8, 8}, {}}, 1);
    options.credits = 4;
    TrafficOptions traffic_options;
    traffic_options.messages = 4000;
    Traffic traffic(options, traffic_options);
    run_to_rest(traffic);
    check_links(traffic.job());
}

}  // namespace relay_test
