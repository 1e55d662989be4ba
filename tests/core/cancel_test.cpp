// SPDX-License-Identifier: BSD-3-Clause
// Cancelled sends and receives: each ends once, cancelled or with its message.

#include <catch2/catch.hpp>
#include <deque>

#include "protocol_job.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace cancel_test {

using namespace protocol;

TEST_CASE("a cancelled receive ends once, either cancelled or with its message, announced or not",
          "[core][protocol]") {
    const std::uint64_t seed = GENERATE(range(1, 40));
    CAPTURE(seed);
    sim::Random random(seed);
    struct Pair {
        explicit Pair(std::size_t bytes) : out(bytes, false), in(bytes, false) {}
        Memory out, in;
        SendRequest send;
        ReceiveRequest receive;
        bool cancelled = false;
    };
    std::deque<Pair> pairs;
    std::deque<std::vector<std::byte>> late_room;
    std::deque<ReceiveRequest> late;
    Job job(line(seed, ways[seed % 4], ways[seed / 4 % 4]));
    const Rank to = seed % 3 == 0 ? 2 : 1;
    std::vector<std::size_t> sizes;
    for (int n = 0; n < 60; ++n) {
        const std::size_t bytes = random.below(2) == 0 ? 2 * limit : 30;
        pairs.emplace_back(bytes);
        Pair& pair = pairs.back();
        pair.out.write(std::uint64_t(n));
        const bool receive_first = random.below(2) == 0;
        if (receive_first) job[to].receive(pair.receive, pair.in.buffer(), 0, 0, n);
        for (auto turns = random.below(6); turns > 0; --turns) job.turn();
        job[0].send(pair.send, pair.out.buffer(), to, 0, n);
        if (!receive_first) job[to].receive(pair.receive, pair.in.buffer(), 0, 0, n);
        for (auto turns = random.below(12); turns > 0; --turns) job.turn();
        if (random.below(2) == 0) {
            job[to].cancel(pair.receive);
            pair.cancelled = true;
        }
    }
    job.settle();
    // Messages whose receive was cancelled are still there for other receives.
    for (int n = 0; n < 60; ++n) {
        Pair& pair = pairs[std::size_t(n)];
        CAPTURE(n);
        INFO(job.report());
        REQUIRE(pair.receive.complete());
        if (pair.receive.status().error == Error::none) {
            REQUIRE(pair.in.holds(pair.receive.status().bytes, std::uint64_t(n)));
            continue;
        }
        REQUIRE(pair.receive.status().error == Error::cancelled);
        REQUIRE(pair.cancelled);
        late_room.emplace_back(2 * limit);
        late.emplace_back();
        job[to].receive(late.back(), Buffer(late_room.back().data(), 2 * limit), 0, 0, n);
        job.settle();
        REQUIRE(late.back().complete());
        REQUIRE(late.back().status().error == Error::none);
        REQUIRE(filled(late_room.back().data(), late.back().status().bytes, std::uint64_t(n)));
    }
    for (Pair& pair : pairs) REQUIRE(pair.send.complete());
    // And receives that never had a message end too.
    ReceiveRequest lonely;
    std::vector<std::byte> room(4 * limit);
    job[to].receive(lonely, Buffer(room.data(), room.size()), 0, 0, 1000);
    job.settle();
    REQUIRE_FALSE(lonely.complete());
    job[to].cancel(lonely);
    job.settle();
    REQUIRE(lonely.complete());
    REQUIRE(lonely.status().error == Error::cancelled);
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

TEST_CASE(
    "a cancelled send ends once: cancelled if no receive had matched it, or else with its message",
    "[core][protocol]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
        for (const Rank dest : {1, 2}) {
            std::vector<std::byte> out(8 * limit), in(out.size()), last(3);
            SendRequest large, small;
            ReceiveRequest receive, after;
            fill(out.data(), out.size(), seed);
            Job job(line(seed, sim::Remote::pending, sim::Remote::refused));
            const auto matched = seed % 3;  // before the cancel, about the same time, never
            if (matched == 0) job[dest].receive(receive, {in.data(), in.size()}, 0, 1, 5);
            job[0].send(large, {out.data(), out.size()}, dest, 1, 5);
            for (std::uint64_t i = job.random().below(30); i > 0; --i) job.turn();
            if (matched == 1) job[dest].receive(receive, {in.data(), in.size()}, 0, 1, 5);
            job[0].cancel(large);
            INFO(job.report());
            REQUIRE(job.run_until([&] { return large.complete(); }));
            if (matched == 0) REQUIRE(large.status().error == Error::none);
            if (matched == 2) REQUIRE(large.status().error == Error::cancelled);
            const bool came = large.status().error == Error::none;
            // The next message meets the next receive.
            job[0].send(small, {out.data(), 3}, dest, 1, 5);
            ReceiveRequest& next = came || matched == 2 ? after : receive;
            if (&next == &after) job[dest].receive(after, {last.data(), last.size()}, 0, 1, 5);
            REQUIRE(job.run_until([&] { return next.complete() && small.complete(); }));
            REQUIRE(next.status().bytes == 3);
            if (came) {
                REQUIRE(job.run_until([&] { return receive.complete(); }));
                REQUIRE(filled(in.data(), in.size(), seed));
            }
            job.settle();
            REQUIRE(job.quiet());
            REQUIRE(job.credits_home());
        }
}

TEST_CASE("no later message takes the place of an abandoned one", "[core][protocol]") {
    enum class By { sender, revocation };
    const auto by = GENERATE(By::sender, By::revocation);
    const auto end = GENERATE(Error::cancelled, Error::unreachable);
    const bool wildcard = GENERATE(false, true);
    const Rank dest = GENERATE(0, 1, 2);
    const std::uint64_t seed = GENERATE(range(1, 6));
    CAPTURE(int(by), end, wildcard, dest, seed);
    if (dest == 0 && end == Error::unreachable) return;  // it is not lost to itself
    JobOptions options = line(seed, ways[seed % 4], ways[seed / 2 % 4]);
    options.tolerates_deaths = true;
    std::vector<std::byte> out(8 * limit), first(out.size()), second(out.size());
    SendRequest large, small;
    ReceiveRequest waits, gets;
    Job job(options);
    fill(out.data(), 3, seed);
    job[0].send(large, {out.data(), out.size()}, dest, 1, 5);
    job[0].send(small, {out.data(), 3}, dest, 1, 5);
    for (std::uint64_t i = job.random().below(30); i > 0; --i) job.turn();
    if (by == By::sender)
        job[0].abandon(large);
    else
        job[0].survivors().cancel_all(1, 1);
    REQUIRE(job.run_until([&] { return large.complete() && small.complete(); }));
    REQUIRE(large.status().error == Error::cancelled);
    REQUIRE(small.status().error == Error::none);
    job.settle();

    const Rank source = wildcard ? any_source : 0;
    job[dest].receive(waits, {first.data(), first.size()}, source, 1, wildcard ? any_tag : 5);
    job[dest].receive(gets, {second.data(), second.size()}, source, 1, wildcard ? any_tag : 5);
    REQUIRE(job.run_until([&] { return gets.complete(); }));
    REQUIRE(gets.status().bytes == 3);
    REQUIRE(filled(second.data(), 3, seed));
    job.settle();
    REQUIRE_FALSE(waits.complete());
    if (end == Error::cancelled)
        job[dest].cancel(waits);
    else
        job.kill(0);
    REQUIRE(job.run_until([&] { return waits.complete(); }));
    REQUIRE(waits.status().error == end);
}

TEST_CASE("a cancel of a message to the rank itself is decided when it returns",
          "[core][protocol]") {
    const int ahead = GENERATE(0, 1, 500);  // messages to oneself in front of it
    const bool seen = GENERATE(false, true);
    CAPTURE(ahead, seen);
    Job job(line(1, sim::Remote::refused, sim::Remote::refused));
    std::vector<std::byte> out(8 * limit), in(out.size());
    std::deque<SendRequest> before(static_cast<std::size_t>(ahead));
    for (SendRequest& send : before) job[0].send(send, {out.data(), 3}, 0, 1, 4);

    SendRequest unmet, met;
    job[0].send(unmet, {out.data(), 0}, 0, 1, 5, SendMode::synchronous);
    if (seen) REQUIRE(job.run_until([&] { return job[0].probe(0, 1, 5).has_value(); }));
    job[0].cancel(unmet);
    REQUIRE(unmet.complete());
    REQUIRE(unmet.status().error == Error::cancelled);
    REQUIRE_FALSE(job[0].probe(0, 1, 5));

    ReceiveRequest receive;
    job[0].receive(receive, {in.data(), in.size()}, 0, 1, 5);
    if (seen) job.settle();
    job[0].cancel(receive);
    REQUIRE(receive.complete());
    REQUIRE(receive.status().error == Error::cancelled);

    ReceiveRequest meeting;
    fill(out.data(), out.size(), 7);
    job[0].receive(meeting, {in.data(), in.size()}, 0, 1, 5);
    job[0].send(met, {out.data(), out.size()}, 0, 1, 5, SendMode::synchronous);
    job[0].cancel(met);
    REQUIRE(job.run_until([&] { return met.complete() && meeting.complete(); }));
    REQUIRE(met.status().error == Error::none);
    REQUIRE(filled(in.data(), in.size(), 7));
}

}  // namespace cancel_test
