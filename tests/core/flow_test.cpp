// SPDX-License-Identifier: BSD-3-Clause
// Declared channels: order, and the packets of a message once both ends know the channel.

#include <catch2/catch.hpp>
#include <deque>

#include "protocol_job.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace flow_test {

using namespace protocol;

TEST_CASE("the n-th send of a flow meets its n-th receive, whatever the lengths and delays",
          "[core][flow]") {
    const std::uint64_t seed = GENERATE(range(1, 25));
    CAPTURE(seed);
    sim::Random random(seed);
    struct Item {
        Item(std::size_t length, std::size_t most, bool a, bool b)
            : out(length, a), in(most, b), bytes(length), room(most) {}
        Memory out, in;
        SendRequest send;
        ReceiveRequest receive;
        std::size_t bytes;
        std::size_t room;
    };
    std::vector<std::deque<Item>> flows(6);
    JobOptions options = line(seed, ways[seed % 4], ways[seed / 4 % 4]);
    options.direct = seed % 5 == 0;
    options.world.mapped = options.world.all_mapped = seed % 10 == 0;
    Job job(options);
    struct Ends {
        Rank from, to;
        Context context;
        std::uint32_t kind;
        SendFlow* send = nullptr;
        ReceiveFlow* receive = nullptr;
        std::size_t started = 0, awaited = 0;
    };
    // Two flows that differ in kind only, one that differs in context, one to itself, one far.
    std::vector<Ends> ends{{0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 1, 0},
                           {1, 0, 0, 0}, {2, 2, 0, 3}, {0, 2, 0, 0}};
    for (std::size_t f = 0; f < ends.size(); ++f)
        for (int n = 0; n < 50; ++n) {
            const std::size_t lengths[] = {0, 1, 60, limit, limit + 1, 3 * limit};
            const std::size_t bytes = lengths[random.below(6)];
            const std::size_t room = lengths[random.below(6)];
            flows[f].emplace_back(bytes, room, random.below(4) == 0, random.below(4) == 0);
            Item& item = flows[f].back();
            item.out.write(f * 1000 + std::uint64_t(n));
        }
    for (;;) {
        bool left = false;
        for (std::size_t f = 0; f < ends.size(); ++f) {
            Ends& end = ends[f];
            if (end.started < flows[f].size() && random.below(3) == 0) {
                if (end.send == nullptr)
                    end.send = &job[end.from].flows().open_send(end.to, end.context, end.kind);
                Item& item = flows[f][end.started++];
                job[end.from].flows().start(*end.send, item.send, item.out.buffer());
            }
            if (end.awaited < flows[f].size() && random.below(3) == 0) {
                if (end.receive == nullptr)
                    end.receive =
                        &job[end.to].flows().open_receive(end.from, end.context, end.kind);
                Item& item = flows[f][end.awaited++];
                job[end.to].flows().start(*end.receive, item.receive, item.in.buffer());
            }
            left |= end.started < flows[f].size() || end.awaited < flows[f].size();
        }
        for (auto turns = random.below(8); turns > 0; --turns) job.turn();
        if (!left) break;
    }
    job.settle();
    INFO(job.report());
    for (std::size_t f = 0; f < ends.size(); ++f) {
        REQUIRE(&job[ends[f].from].flows().open_send(ends[f].to, ends[f].context, ends[f].kind) ==
                ends[f].send);
        for (std::size_t n = 0; n < flows[f].size(); ++n) {
            Item& item = flows[f][n];
            CAPTURE(f, n, item.bytes, item.room);
            REQUIRE(item.send.complete());
            REQUIRE(item.receive.complete());
            REQUIRE(item.send.status().error == Error::none);
            REQUIRE(item.receive.status().bytes == item.bytes);
            REQUIRE(item.in.guards_stand());
            if (item.bytes > item.room) {
                REQUIRE(item.receive.status().error == Error::truncated);
            } else {
                REQUIRE(item.receive.status().error == Error::none);
                REQUIRE(item.in.holds(item.bytes, f * 1000 + n));
            }
        }
    }
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

TEST_CASE("a message of a known flow costs one packet, or one write and one packet",
          "[core][flow]") {
    Memory out(4 * limit, false);
    Memory in(4 * limit, false);
    Job job(line(3, sim::Remote::immediate, sim::Remote::immediate));
    SendFlow& to = job[0].flows().open_send(1, 0, 0);
    ReceiveFlow& from = job[1].flows().open_receive(0, 0, 0);
    job.settle();
    const bool large = GENERATE(false, true);
    for (int n = 0; n < 5; ++n) {
        const auto packets = [&](Rank rank) { return total(job[rank], &Statistics::packets_sent); };
        const std::uint64_t before[] = {packets(0), packets(1)};
        SendRequest send;
        ReceiveRequest receive;
        const std::size_t bytes = large ? 4 * limit : 100;
        Buffer source = out.buffer();
        Buffer sink = in.buffer();
        source.bytes = sink.bytes = bytes;
        job[1].flows().start(from, receive, sink);
        job.settle();
        job[0].flows().start(to, send, source);
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        REQUIRE(packets(0) - before[0] == 1);
        REQUIRE(packets(1) - before[1] == (large ? 1 : 0));
    }
}

// The answer to its request takes it off the sends that wait for a receive.
TEST_CASE("a large send of a flow that came before its receive may start again", "[core][flow]") {
    const sim::Remote way = GENERATE(sim::Remote::immediate, sim::Remote::refused);
    Memory out(4 * limit, false);
    Memory in(4 * limit, false);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    SendFlow& to = job[0].flows().open_send(1, 0, 0);
    ReceiveFlow& from = job[1].flows().open_receive(0, 0, 0);
    for (std::uint64_t n = 0; n < 3; ++n) {
        CAPTURE(n);
        out.write(n);
        job[0].flows().start(to, send, out.buffer());
        job.settle();
        CHECK_FALSE(send.complete());
        job[1].flows().start(from, receive, in.buffer());
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        REQUIRE(in.holds(4 * limit, n));
    }
}

}  // namespace flow_test
