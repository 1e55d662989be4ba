// SPDX-License-Identifier: BSD-3-Clause
// The ways in which messages are sent: eager, by remote write, by remote read, in packets; early
// and late receives; layouts; truncation; named cables; tasks.

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <list>
#include <string>

#include "core/packets.h"
#include "protocol_job.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace protocol_test {

using namespace protocol;

namespace {

enum class First { receiver, sender, neither };

class CountDown final : public Task {
  public:
    explicit CountDown(Request& request) : request_(request) {}
    bool advance() override {
        done = request_.complete();
        return done;
    }
    void report(Waits& waits) const override {
        waits.add(Waits::Collective{.name = "a test's task", .id = this});
    }
    bool done = false;

  private:
    Request& request_;
};

}  // namespace

TEST_CASE("a message of any length arrives whole, whichever side is first, near and far",
          "[core][protocol]") {
    const First first = GENERATE(First::receiver, First::sender, First::neither);
    const int way = GENERATE(range(0, 16));
    const Rank to = GENERATE(0, 1, 2);  // itself, a neighbour, two hops
    const bool direct = to == 2 && way % 2 == 0;
    CAPTURE(int(first), way, to);
    int number = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{40}, limit - 1,
                                    limit, limit + 1, 5 * limit, std::size_t{20'011}})
        for (int shape = 0; shape < 8; ++shape) {
            ++number;
            CAPTURE(bytes, shape);
            Memory out(bytes, (shape & 1) != 0);
            const std::size_t room = bytes + ((shape & 4) != 0 ? 777 : 0);
            Memory in(room, (shape & 2) != 0);
            const auto seed = std::uint64_t(100 * number + way);
            out.write(seed);
            SendRequest send;
            ReceiveRequest receive;
            JobOptions options = line(seed, ways[way % 4], ways[way / 4]);
            options.direct = direct;
            options.world.mapped = options.world.all_mapped = direct && way % 4 == 0;
            Job job(options);
            const auto post = [&] {
                const bool wild = first != First::receiver && shape == 7;
                job[to].receive(receive, in.buffer(), wild ? any_source : 0, 3, wild ? any_tag : 9);
            };
            if (first != First::sender) post();
            if (first == First::receiver) job.settle();
            job[0].send(send, out.buffer(), to, 3, 9,
                        shape == 5 ? SendMode::synchronous : SendMode::standard);
            if (first == First::sender) {
                job.settle();
                if (shape == 5) REQUIRE_FALSE(send.complete());
                post();
            }
            job.settle();
            INFO(job.report());
            REQUIRE(send.complete());
            REQUIRE(receive.complete());
            REQUIRE(send.status().error == Error::none);
            REQUIRE(receive.status().error == Error::none);
            REQUIRE(receive.status().bytes == bytes);
            REQUIRE(receive.status().source == 0);
            REQUIRE(receive.status().tag == 9);
            REQUIRE(in.holds(bytes, seed));
            REQUIRE(in.guards_stand());
            REQUIRE(job.quiet());
            REQUIRE(job.credits_home());
        }
}

TEST_CASE("a message longer than its receive ends as truncated, and its sender succeeds",
          "[core][protocol]") {
    const First first = GENERATE(First::receiver, First::sender, First::neither);
    const int way = GENERATE(range(0, 16));
    const Rank to = GENERATE(0, 1, 2);
    CAPTURE(int(first), way, to);
    for (const std::size_t room : {std::size_t{0}, std::size_t{10}, limit, limit + 1, 3 * limit})
        for (const std::size_t more : {std::size_t{1}, std::size_t{20}, 2 * limit}) {
            CAPTURE(room, more);
            Memory out(room + more, false);
            Memory in(room, way % 2 == 1);
            Memory next_in(8, false);
            Memory next_out(8, false);
            out.write(room);
            next_out.write(1);
            SendRequest send;
            ReceiveRequest receive;
            SendRequest next_send;
            ReceiveRequest next_receive;
            Job job(line(room + more, ways[way % 4], ways[way / 4]));
            if (first != First::sender) job[to].receive(receive, in.buffer(), 0, 3, 9);
            if (first == First::receiver) job.settle();
            job[0].send(send, out.buffer(), to, 3, 9);
            if (first == First::sender) {
                job.settle();
                job[to].receive(receive, in.buffer(), 0, 3, 9);
            }
            job.settle();
            REQUIRE(send.complete());
            REQUIRE(send.status().error == Error::none);
            REQUIRE(receive.complete());
            REQUIRE(receive.status().error == Error::truncated);
            REQUIRE(receive.status().bytes == room + more);
            REQUIRE(in.guards_stand());
            // The pair goes on as if nothing had happened.
            job[to].receive(next_receive, next_in.buffer(), 0, 3, 9);
            job[0].send(next_send, next_out.buffer(), to, 3, 9);
            job.settle();
            REQUIRE(next_receive.complete());
            REQUIRE(next_receive.status().error == Error::none);
            REQUIRE(next_in.holds(8, 1));
            REQUIRE(job.credits_home());
        }
}

// From rank 0 to rank 1, which asks for the message before it is sent or afterwards.
void send_to_neighbour(Job& job, SendRequest& send, Memory& out, ReceiveRequest& receive,
                       Memory& in, bool receiver_first) {
    if (receiver_first) {
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
    }
    job[0].send(send, out.buffer(), 1, 0, 0);
    job.settle();
    if (!receiver_first) {
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
    }
}

TEST_CASE("a large message between neighbours is written once, not sent in packets",
          "[core][protocol]") {
    const bool receiver_first = GENERATE(true, false);
    const sim::Remote way = GENERATE(sim::Remote::immediate, sim::Remote::pending);
    Memory out(50'000, false);
    Memory in(50'000, false);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    send_to_neighbour(job, send, out, receive, in, receiver_first);
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) + total(job[1], &Statistics::bytes_read) ==
            50'000);
    // After an announcement the sender needs no answer.
    if (receiver_first) REQUIRE(total(job[1], &Statistics::packets_sent) == 1);
}

TEST_CASE("a large message from scattered memory is written in pieces, not sent in packets",
          "[core][protocol]") {
    const bool receiver_first = GENERATE(true, false);
    const sim::Remote way =
        GENERATE(sim::Remote::immediate, sim::Remote::pending, sim::Remote::mixed);
    Memory out(50'000, true);
    Memory in(50'000, false);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    send_to_neighbour(job, send, out, receive, in, receiver_first);
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(in.guards_stand());
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) == 50'000);
}

TEST_CASE("a large message from scattered memory goes in packets over several cables",
          "[core][protocol]") {
    Memory out(50'000, true);
    Memory in(50'000, false);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    JobOptions options = line(1, sim::Remote::pending, sim::Remote::refused);
    options.dims = {2};
    Job job(options);
    job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    job[0].send(send, out.buffer(), 1, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(total(job[0], &Statistics::bytes_written) == 0);
    int cables = 0;
    for (const auto& it : job[0].state().connections())
        cables += it.link && it.statistics.streamed != 0;
    REQUIRE(cables == 2);
}

TEST_CASE("the report of a rank omits links without unanswered packets", "[core][protocol]") {
    Memory in(40, false);
    ReceiveRequest receive;
    Job job(line(1, sim::Remote::immediate, sim::Remote::immediate));
    job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    const Waits waits = job[1].state().waits();
    CHECK(waits.links.empty());
    CHECK(waits.operations.size() == 1);
    job[1].cancel(receive);
    job.settle();
}

TEST_CASE("memory scattered in tiny pieces goes in packets, since each write has a cost",
          "[core][protocol]") {
    constexpr std::size_t bytes = 48'000;
    std::vector<std::byte> from(2 * bytes), to(bytes);
    fill(from.data(), from.size(), 6);
    const Layout layout({{0, 8, bytes / 8, 16}});
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, sim::Remote::immediate, sim::Remote::immediate));
    job[1].receive(receive, {to.data(), bytes}, 0, 0, 0);
    job.settle();
    job[0].send(send, Buffer(from.data(), layout), 1, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    std::vector<std::byte> expected(bytes);
    layout.pack(from.data(), 0, expected.data(), bytes);
    REQUIRE(to == expected);
    REQUIRE(total(job[0], &Statistics::bytes_written) == 0);
}

TEST_CASE("a large message into scattered memory is read in pieces if reads end immediately",
          "[core][protocol]") {
    Memory out(50'000, false);
    Memory in(50'000, true);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, sim::Remote::immediate, sim::Remote::immediate));
    job[0].send(send, out.buffer(), 1, 0, 0);
    job.settle();
    job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(in.guards_stand());
    REQUIRE(total(job[1], &Statistics::bytes_read) == 50'000);
}

TEST_CASE("scattered memory is packed straight into and out of memory that is mapped",
          "[core][protocol]") {
    const bool scattered_sender = GENERATE(true, false);
    const std::size_t bytes = 30'000;
    JobOptions options = line(1, sim::Remote::pending, sim::Remote::pending);
    options.world.mapped = true;
    Job job(options);
    const Layout layout({{3, 7, bytes / 7, 11}, {60'000, bytes % 7, 1, 0}});
    const std::size_t whole = scattered_sender ? 1 : 0;  // the rank whose memory is one block
    auto* const block = static_cast<std::byte*>(job[Rank(whole)].allocate(bytes, 64));
    std::vector<std::byte> holes(60'100), expected(bytes);
    const Buffer plain(block, bytes), scattered(holes.data(), layout);
    fill(expected.data(), bytes, 8);
    (scattered_sender ? scattered : plain).unpack(0, expected.data(), bytes);
    SendRequest send;
    ReceiveRequest receive;
    job[0].send(send, scattered_sender ? scattered : plain, 1, 0, 0);
    job.settle();
    job[1].receive(receive, scattered_sender ? plain : scattered, 0, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    std::vector<std::byte> got(bytes);
    (scattered_sender ? plain : scattered).pack(0, got.data(), bytes);
    REQUIRE(got == expected);
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) + total(job[1], &Statistics::bytes_read) ==
            bytes);
    job[Rank(whole)].free(block);
}

TEST_CASE("thousands of large messages one after the other reuse the same few ids",
          "[core][protocol][bug1]") {
    const sim::Remote way = GENERATE(sim::Remote::pending, sim::Remote::refused);
    const bool receiver_first = GENERATE(true, false);
    Memory out(limit + 1, false);
    Memory in(limit + 1, false);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    for (int n = 0; n < 9000; ++n) {
        CAPTURE(n);
        if (receiver_first) job[1].receive(receive, in.buffer(), 0, 0, 0);
        if (receiver_first) job.settle();
        job[0].send(send, out.buffer(), 1, 0, 0);
        if (!receiver_first) job.settle();
        if (!receiver_first) job[1].receive(receive, in.buffer(), 0, 0, 0);
        if (!job.run_until([&] { return send.complete() && receive.complete(); }))
            FAIL("message " << n << " does not end: " << job.report());
    }
}

TEST_CASE("a message of the eager limit is one packet, a longer one is not", "[core][protocol]") {
    Memory out(limit + 1, false);
    Memory in(limit + 1, false);
    Job job(line(5, sim::Remote::refused, sim::Remote::refused));
    for (const std::size_t bytes : {limit, limit + 1}) {
        CAPTURE(bytes);
        const auto packets = [&] {
            return total(job[0], &Statistics::packets_sent) +
                   total(job[1], &Statistics::packets_sent);
        };
        const std::uint64_t before = packets();
        SendRequest send;
        ReceiveRequest receive;
        Buffer source = out.buffer();
        source.bytes = bytes;
        job[0].send(send, source, 1, 0, 0);
        job.settle();
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        CHECK(packets() - before == (bytes == limit ? 1 : 3));  // request, answer and data
    }
}

TEST_CASE("over a direct connection the match of an announced receive brings the first piece",
          "[core][protocol]") {
    const bool credit = GENERATE(true, false);
    const bool strided = GENERATE(true, false);
    constexpr std::size_t bytes = 9 * limit;
    Memory out(bytes, strided);
    Memory in(bytes, strided);
    out.write(7);
    SendRequest send;
    ReceiveRequest receive;
    JobOptions options = line(2, sim::Remote::refused, sim::Remote::refused);
    options.dims = {2};
    options.direct = true;
    Job job(options);
    std::size_t matches = 0, carried = 0;
    job.world().set_interposer(
        [&](std::size_t, const torusmp::transport::PacketHeader& header, std::vector<std::byte>&) {
            if (header.kind != std::uint8_t(PacketKind::matched)) return;
            ++matches;
            carried += header.length - sizeof(MatchedBody);
        });
    std::vector<std::byte> small(40);
    job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    std::list<SendRequest> others;
    if (!credit) job.stop(1);
    // Small messages take all.
    while (!credit && (others.empty() || others.back().complete()))
        job[0].send(others.emplace_back(), Buffer(small.data(), small.size()), 1, 7, 1);
    job[0].send(send, out.buffer(), 1, 0, 0);
    if (!credit) job.go_on(1);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    CHECK(in.holds(bytes, 7));
    CHECK(matches == 1);
    CHECK((carried != 0) == credit);
    CHECK(carried < bytes);
    while (job[1].probe(0, 7, 1)) {
        ReceiveRequest rest;
        job[1].receive_block(rest, small, 0, 7, 1);
    }
}

TEST_CASE("a small message is stored in the memory of an announced receive if it is mapped",
          "[core][protocol]") {
    const bool mapped = GENERATE(true, false);
    const bool crosses = GENERATE(true, false);
    JobOptions options = line(2, sim::Remote::refused, sim::Remote::refused);
    options.dims = {2};
    options.direct = true;
    options.world.mapped = options.world.all_mapped = mapped;
    Job job(options);
    for (const std::size_t bytes : {limit / 4 - 1, limit / 4, limit}) {
        CAPTURE(mapped, crosses, bytes);
        Memory out(bytes, false);
        Memory in(limit, false);
        out.write(bytes);
        const std::uint64_t before = total(job[0], &Statistics::rendezvous);
        SendRequest send;
        ReceiveRequest receive;
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        if (!crosses) job.settle();
        job[0].send(send, out.buffer(), 1, 0, 0);
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        CHECK(receive.status().bytes == bytes);
        CHECK(in.holds(bytes, bytes));
        const bool stored = total(job[0], &Statistics::rendezvous) != before;
        CHECK(stored == (mapped && !crosses && bytes >= limit / 4));
    }
}

// A rank has only so many announcements at a time.
TEST_CASE("a receive may be announced when earlier ones have ended", "[core][protocol]") {
    Memory out(limit + 1, false);
    Memory in(limit + 1, false);
    SendRequest send;
    ReceiveRequest receive;
    int announced = 0;
    Job job(line(1, sim::Remote::pending, sim::Remote::refused));
    job.world().set_interposer(
        [&](std::size_t, const torusmp::transport::PacketHeader& header, std::vector<std::byte>&) {
            if (header.kind == std::uint8_t(PacketKind::rtr)) ++announced;
        });
    for (int n = 1; n <= 40; ++n) {
        CAPTURE(n);
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
        job[0].send(send, out.buffer(), 1, 0, 0);
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        REQUIRE(announced == n);
    }
}

TEST_CASE("a large message to the rank itself is copied once", "[core][protocol]") {
    constexpr std::size_t bytes = 20 * limit;
    Memory out(bytes, false);
    Memory in(bytes, false);
    out.write(3);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, sim::Remote::pending, sim::Remote::pending));
    job[0].send(send, out.buffer(), 0, 0, 0);
    job[0].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    CHECK(in.holds(bytes, 3));
    CHECK(total(job[0], &Statistics::bytes_read) == bytes);
    CHECK(total(job[0], &Statistics::streamed) == 0);
}

TEST_CASE(
    "the fast path of a send is not used for messages that must wait, are large or may be "
    "announced",
    "[core][protocol]") {
    Job job(line(1, ways[0], ways[0]));
    std::vector<std::byte> small(40), large(2 * limit);
    CHECK_FALSE(job[0].send_at_once(large, 1, 7, 1));
    // As many as there are credits; then one waits, and what came after it would overtake it.
    int sent = 0;
    for (; job[0].send_at_once(small, 1, 7, 1); ++sent) small[0] = std::byte(sent + 1);
    REQUIRE(sent > 0);
    SendRequest waits;
    job[0].send(waits, Buffer(small.data(), small.size()), 1, 7, 1);
    CHECK_FALSE(waits.complete());
    CHECK_FALSE(job[0].send_at_once(small, 1, 7, 1));
    job.settle();
    REQUIRE(waits.complete());
    for (int i = 0; i <= sent; ++i) {
        ReceiveRequest receive;
        std::vector<std::byte> room(40);
        job[1].receive_block(receive, room, 0, 7, 1);
        REQUIRE(receive.complete());
        CHECK(room[0] == std::byte(i));
    }
    // A receive of a large message that was announced takes the next message with its tag.
    ReceiveRequest announced;
    job[1].receive_block(announced, large, 0, 7, 2);
    job.settle();
    CHECK_FALSE(job[0].send_at_once(small, 1, 7, 2));
    SendRequest send;
    job[0].send(send, Buffer(small.data(), small.size()), 1, 7, 2);
    job.settle();
    REQUIRE(announced.complete());
    CHECK(announced.status().bytes == small.size());
}

TEST_CASE("a sender that does not poll uses the credits that have returned meanwhile",
          "[core][protocol]") {
    std::vector<std::byte> small(40), room(40);
    SendRequest waits, send;
    JobOptions options = line(1, ways[0], ways[0]);
    options.dims = {2};
    options.direct = true;
    Job job(options);
    const auto fill_credits = [&] {
        int sent = 0;
        while (job[0].send_at_once(small, 1, 7, 1)) ++sent;
        return sent;
    };
    // The sender computes from here on; the other end takes what has come, and gives credits back.
    const auto other_end = [&] {
        job.stop(0);
        job.settle();
    };
    job[0].send(send, Buffer(small.data(), small.size()), 1, 7, 1);
    job.settle();  // they are connected
    REQUIRE(fill_credits() > 0);
    other_end();
    CHECK(fill_credits() > 0);
    // Those that wait leave first.
    job[0].send(waits, Buffer(small.data(), small.size()), 1, 7, 1);
    REQUIRE_FALSE(waits.complete());
    other_end();
    CHECK(fill_credits() > 0);
    CHECK(waits.complete());
    job.go_on(0);
    job.settle();
    while (job[1].probe(0, 7, 1)) {
        ReceiveRequest receive;
        job[1].receive_block(receive, room, 0, 7, 1);
        REQUIRE(receive.complete());
    }
}

TEST_CASE("messages over named cables of a ring of two use both, and match in order",
          "[core][protocol]") {
    for (const bool large : {false, true}) {
        const std::size_t bytes = large ? 3 * limit : 40;
        JobOptions options = line(3, sim::Remote::pending, sim::Remote::refused);
        options.dims = {2};
        options.spread_limit = 100 * limit;
        std::deque<SendRequest> sends(12);
        std::deque<ReceiveRequest> receives(12);
        std::vector<std::vector<std::byte>> out(12), in(12, std::vector<std::byte>(bytes));
        Job job(options);
        for (std::size_t i = 0; i < sends.size(); ++i) {
            out[i].resize(bytes);
            fill(out[i].data(), bytes, i);
            job[1].receive(receives[i], {in[i].data(), bytes}, 0, 1, 5);
            job[0].send_by(sends[i], {out[i].data(), bytes},
                           torusmp::routing::Direction{0, i % 2 == 0 ? +1 : -1}, 1, 5);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            return std::all_of(receives.begin(), receives.end(),
                               [](const ReceiveRequest& r) { return r.complete(); });
        }));
        REQUIRE(in == out);
        job.settle();
        for (const auto& info : job[0].state().connections())
            if (info.link)
                REQUIRE(info.statistics.bytes_sent + info.statistics.bytes_written >= 6 * bytes);
        REQUIRE(job.credits_home());
    }
}

TEST_CASE("a report lists packets to the rank itself that wait for a credit",
          "[core][protocol][report]") {
    std::vector<std::byte> bytes(8, std::byte{1});
    std::vector<std::byte> room(8);
    std::deque<SendRequest> sends(300);
    ReceiveRequest receive;
    JobOptions options;
    options.credits = 4;
    Job job(options);
    for (SendRequest& send : sends) job[0].send(send, Buffer(bytes.data(), bytes.size()), 0, 0, 1);
    CHECK_THAT(job[0].state().report(),
               Catch::Contains("the self connection to rank 0: packets wait for a credit"));
    for (std::size_t i = 0; i < sends.size(); ++i) {
        job[0].receive(receive, Buffer(room.data(), room.size()), 0, 0, 1);
        REQUIRE(job.run_until([&] { return receive.complete(); }));
    }
}

TEST_CASE("a task is advanced when a remote write or read ends", "[core][protocol][bug2]") {
    const bool write = GENERATE(true, false);
    Memory out(9000, false);
    Memory in(9000, false);
    SendRequest send;
    ReceiveRequest receive;
    CountDown task(write ? static_cast<Request&>(send) : receive);
    Job job(line(1, sim::Remote::pending, sim::Remote::pending));
    const Rank waiting = write ? 0 : 1;
    if (write) job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    job[0].send(send, out.buffer(), 1, 0, 0);
    job[waiting].add_task(task);
    if (!write) {
        job.settle();
        job[1].receive(receive, in.buffer(), 0, 0, 0);
    }
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(task.done);
}

}  // namespace protocol_test
