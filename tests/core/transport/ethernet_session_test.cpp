// SPDX-License-Identifier: BSD-3-Clause
// The protocol of Ethernet frames, on a cable whose faults follow from a seed.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "frame_network.h"

namespace ethernet_session_test {

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using ethernet::FrameHeader;
using ethernet::Kind;
using ethernet::Seal;
using ethernet::Session;
using End = FrameNetwork::End;

// Both ends send packets of all lengths, some of which go over the connection, and credits.
void talk(FrameNetwork& network, std::uint64_t seed, int rounds) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < rounds; ++i) {
        for (End* it : {&network.a(), &network.b()}) {
            for (auto n = random() % 4; n > 0; --n)
                it->send_next(random() % 20 == 0 ? 1000 + random() % 4000 : random() % 300,
                              random() % 3 != 0);
            if (random() % 5 == 0) it->grant(random() % 3 * credit_of(0) + credit_of(2));
        }
        network.turn();
    }
}

bool all_came(FrameNetwork& network) {
    return network.turn_until([&] {
        return network.a().got == network.b().sent && network.b().got == network.a().sent &&
               network.a().got_grants == network.b().granted &&
               network.b().got_grants == network.a().granted;
    });
}

void check(const FrameNetwork::End& end) {
    CHECK(end.fault.empty());
    CHECK_FALSE(end.wrong);
    CHECK(end.got == end.peer->sent);
    CHECK(end.got_grants == end.peer->granted);
}

TEST_CASE("packets arrive once and in order, whatever happens to frames", "[ethernet]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        std::mt19937_64 random(seed);
        const auto chance = [&] { return random() % 3 == 0 ? 0.0 : double(random() % 200) / 1000; };
        const CableFaults faults{chance(), chance(), chance(), chance(), chance(), chance()};
        INFO("seed " << seed << ": loss " << faults.loss << ", repeat " << faults.repeat
                     << ", delay " << faults.delay << ", damage " << faults.damage << ", refusal "
                     << faults.refusal << ", attack " << faults.attack);
        FrameNetwork network(seed, faults, seed % 2 == 0 ? 1500 : 576);
        talk(network, seed, 400);
        CHECK(all_came(network));
        check(network.a());
        check(network.b());
    }
}

TEST_CASE("without faults every short packet goes in a frame, once", "[ethernet]") {
    FrameNetwork network(1);
    REQUIRE(network.meet());
    for (int i = 0; i < 3000; ++i) {
        network.a().send_next(8);
        network.turn();
    }
    REQUIRE(all_came(network));
    CHECK(network.a().in_frames == 3000);
    CHECK(network.a().session.counters().resent == 0);
    CHECK(network.a().session.counters().handed_over == 0);
    CHECK(network.b().session.counters().repeated == 0);
}

TEST_CASE("the receiver counts lost frames, whether many frames follow or none", "[ethernet]") {
    for (const double loss : {0.0, 0.02, 0.1, 0.2})
        for (const bool one_by_one : {false, true}) {
            CAPTURE(loss, one_by_one);
            FrameNetwork network(5);
            REQUIRE(network.meet());
            network.faults().loss = loss;
            End& a = network.a();
            const ethernet::Counters& counted = network.b().session.counters();
            for (int i = 0; i < 3000; ++i) {
                a.send_next(8);
                if (one_by_one)
                    REQUIRE(network.turn_until([&] { return network.b().got == a.sent; }));
                else
                    network.turn();
            }
            REQUIRE(all_came(network));
            const double expected = loss * double(counted.taken - counted.repeated);
            CHECK(std::abs(double(counted.lost) - expected) <= 4 * std::sqrt(expected));
        }
}

TEST_CASE("a receiver that computes, and a cable that is silent for a moment, do not count as loss",
          "[ethernet]") {
    FrameNetwork network(6);
    REQUIRE(network.meet());
    End& a = network.a();
    const ethernet::Counters& counted = network.b().session.counters();
    const auto compute = [&] {  // b does not poll for 50 ms
        for (int i = 0; i < 500; ++i) {
            a.poll();
            network.step(std::chrono::microseconds(100));
        }
    };
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 20; ++i) a.send_next(8);
        compute();
        REQUIRE(all_came(network));
    }
    CHECK(a.session.counters().resent > 20);
    CHECK(counted.lost == 0);

    network.faults().loss = 1;
    for (int i = 0; i < 100; ++i) a.send_next(8);
    compute();
    network.faults().loss = 0;
    REQUIRE(all_came(network));
    CHECK(a.session.counters().handed_over == 0);
    CHECK(counted.lost > 0);
    CHECK(counted.lost <= Session::most_lost_in_a_row);
}

TEST_CASE("packets that wait for further packets share a frame", "[ethernet]") {
    FrameNetwork network(2);
    REQUIRE(network.meet());
    const auto before = network.a().session.counters().sent;
    for (int i = 0; i < 60; ++i) network.a().send_next(8, false);
    network.a().session.flush();
    REQUIRE(all_came(network));
    CHECK(network.a().session.counters().sent - before == 2);
    check(network.b());
}

TEST_CASE("packets that come only over the connection are not confirmed in separate frames",
          "[ethernet]") {
    FrameNetwork network(7);
    REQUIRE(network.meet());
    network.turn();
    End& a = network.a();
    End& b = network.b();
    for (int i = 0; i < 10; ++i) a.send_next(4000);
    b.poll();
    CHECK(b.got == 10);
    CHECK_FALSE(b.session.owes());
    CHECK(a.ring.empty());

    a.send_next(8);
    REQUIRE(b.ring.size() == 1);
    b.poll();
    CHECK(b.got == 11);
    CHECK(a.ring.size() == 1);
    check(b);
}

TEST_CASE("packets over the connection confirm frames, and leave gaps to frames", "[ethernet]") {
    FrameNetwork network(9);
    REQUIRE(network.meet());
    network.turn();
    End& a = network.a();
    End& b = network.b();
    const auto take_frame = [&] {
        REQUIRE_FALSE(b.ring.empty());
        b.session.take_frame(b.ring.front().data(), b.ring.front().size());
        b.ring.pop_front();
    };
    a.send_next(8);
    take_frame();
    CHECK(b.session.owes());
    b.send_next(4000);
    CHECK_FALSE(b.session.owes());
    CHECK(a.session.due(network.now()) != Clock::time_point::max());
    a.poll();
    CHECK(a.session.due(network.now()) == Clock::time_point::max());

    network.faults().loss = 1;
    a.send_next(8);
    network.faults().loss = 0;
    a.send_next(8);
    take_frame();
    b.send_next(4000);
    CHECK(b.session.owes());
    REQUIRE(all_came(network));
    check(a);
    check(b);
}

TEST_CASE("a window of packets over the connection is confirmed", "[ethernet]") {
    FrameNetwork network(8);
    REQUIRE(network.meet());
    End& a = network.a();
    for (int i = 0; i < int(Session::link_window); ++i) a.send_next(4000);
    REQUIRE(all_came(network));
    network.turn();
    const auto before = a.in_frames;
    a.send_next(8);
    CHECK(a.in_frames == before + 1);
}

TEST_CASE("a gap is closed before the timer expires", "[ethernet]") {
    FrameNetwork network(3);
    REQUIRE(network.meet());
    network.faults().loss = 1;
    network.a().send_next(8);
    network.faults().loss = 0;
    network.a().send_next(8);
    const auto began = network.now();
    REQUIRE(all_came(network));
    CHECK(network.now() - began < Session::first_wait);
    CHECK(network.a().session.counters().resent == 1);
    check(network.b());
}

// Turns until a stream of packets, so many a turn and under way as a cable and credits allow, has
// come.
int turns_of_stream(std::uint64_t seed, CableFaults faults) {
    constexpr std::uint32_t all = 20'000, under_way = 16, a_turn = 8;
    FrameNetwork network(seed, faults);
    network.meet();
    End& from = network.a();
    const End& to = network.b();
    int turns = 0;
    for (; to.got < all && turns < 100 * int(all); ++turns) {
        for (auto n = a_turn; n > 0 && from.sent < all && from.sent - to.got < under_way; --n)
            from.send_next(64);
        network.turn();
    }
    CHECK(to.got == all);
    CHECK_FALSE(to.wrong);
    return turns;
}

TEST_CASE("a cable that loses one frame in a hundred has most of its rate without loss",
          "[ethernet]") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const int sound = turns_of_stream(seed, {});
        const int lossy = turns_of_stream(seed, {.loss = 0.01});
        INFO("seed " << seed << ": " << sound << " turns, with loss " << lossy);
        CHECK(sound >= lossy * 0.7);
    }
}

TEST_CASE("the last frame is sent again by the timer", "[ethernet]") {
    FrameNetwork network(4);
    REQUIRE(network.meet());
    network.faults().loss = 1;
    network.a().send_next(8);
    network.faults().loss = 0;
    REQUIRE(all_came(network));
    CHECK(network.a().session.counters().resent == 1);
    check(network.b());
}

TEST_CASE("while frames are lost, all packets go over the connection", "[ethernet]") {
    FrameNetwork network(5);
    const bool met = GENERATE(false, true);
    if (met) REQUIRE(network.meet());
    network.faults().loss = 1;
    const auto before = network.a().in_frames;
    for (int i = 0; i < 20; ++i) network.a().send_next(8);
    REQUIRE(all_came(network));
    CHECK_FALSE(network.a().session.in_frames());
    CHECK((network.a().in_frames - before == 0) == !met);
    check(network.b());

    network.faults().loss = 0;
    REQUIRE(network.meet());
    network.a().send_next(8);
    REQUIRE(all_came(network));
    check(network.b());
}

TEST_CASE("an end that leaves passes unconfirmed packets to the connection", "[ethernet]") {
    FrameNetwork network(6);
    REQUIRE(network.meet());
    network.faults().loss = 1;
    for (int i = 0; i < 10; ++i) network.a().send_next(100, i % 2 == 0);
    network.a().session.hand_over();
    network.a().session.end();
    REQUIRE(network.b().connection.size() > 0);
    network.b().poll();
    check(network.b());
}

TEST_CASE("the ring of a silent end has room for all packets that arrive", "[ethernet]") {
    FrameNetwork network(7, {.delay = 0.1});
    REQUIRE(network.meet());
    network.b().deepest_ring = 0;
    for (int i = 0; i < 2000; ++i) {
        network.a().send_next(8);
        network.a().poll();
        network.step(std::chrono::milliseconds(1));
    }
    CHECK(network.b().deepest_ring <= 2 * Session::link_window);
    REQUIRE(all_came(network));
    check(network.b());
}

TEST_CASE("frames of an attacker are not accepted and cause no loss", "[ethernet]") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        INFO("seed " << seed);
        FrameNetwork network(seed, {.attack = 1});
        talk(network, seed, 600);
        REQUIRE(all_came(network));
        check(network.a());
        check(network.b());
        CHECK(network.attacks() > 500);
        auto counted = network.a().session.counters();
        counted += network.b().session.counters();
        CHECK(counted.forged > 0);
        CHECK(counted.malformed > 0);
        CHECK(counted.repeated > 0);
    }
}

// A frame that the other end could have sent.
std::vector<std::byte> frame_of(End& to, FrameHeader header, std::span<const std::byte> records) {
    header.session = to.greeting.session;
    header.version = ethernet::frame_version;
    header.length = std::uint16_t(records.size());
    std::vector<std::byte> frame(sizeof header + records.size());
    std::memcpy(frame.data(), &header, sizeof header);
    std::copy(records.begin(), records.end(), frame.begin() + sizeof header);
    Seal(FrameNetwork::secret(), to.peer->greeting, to.greeting).close(frame.data());
    return frame;
}

TEST_CASE("an end that breaks the protocol is refused", "[ethernet]") {
    FrameNetwork network(8);
    REQUIRE(network.meet());
    FrameHeader header{};
    header.kind = Kind::packets;
    std::vector<std::byte> records;
    SECTION("it confirms a frame that was not sent") {
        header.kind = Kind::confirmation;
        header.confirmed = 1;
    }
    SECTION("a record is cut short") {
        records.resize(32);
    }
    SECTION("a record is longer than its frame") {
        PacketHeader packet{};
        packet.length = 4000;
        records.resize(sizeof packet);
        std::memcpy(records.data(), &packet, sizeof packet);
    }
    network.inject(network.b(), frame_of(network.b(), header, records));
    network.b().poll();
    CHECK_FALSE(network.b().fault.empty());
    CHECK(network.b().got == 0);
}

TEST_CASE("a frame of an earlier session, or a frame that returns, is ignored", "[ethernet]") {
    FrameNetwork former(9);
    FrameNetwork network(10);
    REQUIRE(former.meet());
    REQUIRE(network.meet());
    FrameHeader header{};
    header.kind = Kind::packets;
    PacketHeader packet{};
    const auto records = std::as_bytes(std::span(&packet, 1));
    auto reflected = frame_of(network.a(), header, records);  // by b
    std::memcpy(reflected.data() + offsetof(FrameHeader, session), &network.b().greeting.session,
                sizeof(std::uint32_t));
    network.inject(network.b(), frame_of(former.b(), header, records));
    network.inject(network.b(), reflected);
    const auto before = network.b().session.counters();
    network.b().poll();
    CHECK(network.b().got == 0);
    CHECK(network.b().fault.empty());
    CHECK(network.b().session.counters().forged + network.b().session.counters().damaged ==
          before.forged + before.damaged + 2);
}

}  // namespace ethernet_session_test
