// SPDX-License-Identifier: BSD-3-Clause
// The requirements of core on every transport: packets, credits, connections and sleep. pairs.h has
// the list of transports.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "linked_pair.h"

namespace transport_contract_test {

using namespace torusmp::transport;
using namespace torusmp::transport::testing;

constexpr std::size_t slot_bytes = contract_slot_bytes;

TEST_CASE("a transport delivers the packets of a virtual channel in order and unchanged",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {5});
    unsigned credits = 5;
    std::uint32_t sent = 0;
    const std::uint32_t total = 300;
    const auto size_of = [](std::uint32_t n) -> std::size_t {
        if (n % 7 == 0) return 0;
        return n % 11 == 0 ? slot_bytes : (n * 37u) % 2000u;
    };
    std::size_t granted = 0;
    REQUIRE(link.pump([&] {
        for (; granted < link.at_b.packets.size(); ++granted) link.b.grant(credit_of(0));
        credits += credits_in(link.a.collect_grants(), 0);
        while (credits > 0 && sent < total) {
            const auto payload = pattern(size_of(sent), sent);
            link.a.send(header_of(0, sent, payload.size()), payload);
            ++sent;
            --credits;
        }
        return link.at_b.packets.size() == total && credits == 5;
    }));
    for (std::uint32_t n = 0; n < total; ++n) {
        const Seen& seen = link.at_b.packets[n];
        REQUIRE(seen.channel == &link.b);
        REQUIRE(same_header(seen.header, header_of(0, n, size_of(n))));
        REQUIRE(seen.payload == pattern(size_of(n), n));
    }
    REQUIRE(link.at_a.packets.empty());
    REQUIRE(link.at_a.downs.empty());
    REQUIRE(link.at_b.downs.empty());
}

TEST_CASE("a transport has a slot for each credit of each virtual channel, in both directions",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const std::vector<int> credits{max_credits, 2, 3};
    Linked link(maker, credits);
    for (int c = 0; c < 3; ++c)
        for (int n = 0; n < credits[std::size_t(c)]; ++n) {
            const auto payload = pattern(slot_bytes / 4, std::uint64_t(1000 * c + n));
            link.a.send(header_of(c, std::uint32_t(n), payload.size()), payload);
            link.b.send(header_of(c, std::uint32_t(n), payload.size()), payload);
        }
    REQUIRE(link.pump([&] {
        return link.at_a.packets.size() == max_credits + 5 &&
               link.at_b.packets.size() == max_credits + 5;
    }));
    for (const Recorder* at : {&link.at_a, &link.at_b}) {
        std::uint32_t next[3] = {0, 0, 0};
        for (const Seen& seen : at->packets) {
            const int c = seen.header.virtual_channel;
            REQUIRE(seen.header.sequence == next[c]++);
            REQUIRE(seen.payload ==
                    pattern(slot_bytes / 4, std::uint64_t(1000 * c) + seen.header.sequence));
        }
    }
}

TEST_CASE("a transport offers a held packet again and nothing behind it in its virtual channel",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4, 4});
    bool hold = true;
    int offers_of_first = 0;
    link.at_b.decide = [&](const PacketHeader& header) {
        if (header.virtual_channel != 1) return Verdict::taken;
        if (hold) {
            REQUIRE(header.sequence == 10);
            ++offers_of_first;
        }
        return hold ? Verdict::held : Verdict::taken;
    };
    const auto payload = pattern(300, 10);
    link.a.send(header_of(1, 10, 300), payload);
    link.a.send(header_of(1, 11, 0), {});
    link.a.send(header_of(0, 1, 0), {});
    link.a.send(header_of(1, 12, 0), {});
    link.a.send(header_of(0, 2, 0), {});

    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 2 && offers_of_first >= 3; }));
    link.settle();
    REQUIRE(link.at_b.packets.size() == 2);
    REQUIRE(link.at_b.packets[0].header.sequence == 1);
    REQUIRE(link.at_b.packets[1].header.sequence == 2);

    SECTION("each poll offers it once") {
        const int before = offers_of_first;
        link.pair->b().poll(link.at_b);
        REQUIRE(offers_of_first == before + 1);
    }
    hold = false;
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 5; }));
    for (std::uint32_t n = 0; n < 3; ++n)
        REQUIRE(link.at_b.packets[2 + n].header.sequence == 10 + n);
    REQUIRE(link.at_b.packets[2].payload == payload);
}

TEST_CASE("a transport's poll returns the number of packets that were taken",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {8});
    REQUIRE(link.pair->b().poll(link.at_b) == 0);
    int taken = 0;
    for (std::uint32_t n = 0; n < 8; ++n) link.a.send(header_of(0, n, 0), {});
    bool hold = true;
    link.at_b.decide = [&](const PacketHeader&) { return hold ? Verdict::held : Verdict::taken; };
    const auto poll_while_held = [&] {
        link.pair->pass_time();
        link.pair->a().poll(link.at_a);
        REQUIRE(link.pair->b().poll(link.at_b) == 0);
    };
    // However long the first packet takes: a cable may have lost it.
    for (int turn = 0; turn < turns_enough && link.at_b.offered == 0; ++turn) poll_while_held();
    REQUIRE(link.at_b.offered > 0);
    for (int turn = 0; turn < 200; ++turn) poll_while_held();
    hold = false;
    for (int turn = 0; turn < turns_enough && taken < 8; ++turn) {
        link.pair->pass_time();
        link.pair->a().poll(link.at_a);
        taken += link.pair->b().poll(link.at_b);
    }
    REQUIRE(taken == 8);
    REQUIRE(link.at_b.packets.size() == 8);
}

TEST_CASE("a transport returns every credit that is given back without a packet",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {40, 30});
    for (std::uint32_t n = 0; n < 70; ++n) link.a.send(header_of(n < 40 ? 0 : 1, n, 0), {});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 70; }));
    REQUIRE(link.a.collect_grants() == 0);
    unsigned back[2] = {0, 0};
    const auto collect = [&] {
        const CreditWord word = link.a.collect_grants();
        back[0] += credits_in(word, 0);
        back[1] += credits_in(word, 1);
        return back[0] == 40 && back[1] == 30;
    };
    link.b.grant(7 * credit_of(0));
    link.b.grant(30 * credit_of(1) + 13 * credit_of(0));
    link.b.grant(19 * credit_of(0));
    link.b.grant(credit_of(0));
    REQUIRE(link.pump(collect));
    link.settle();
    collect();
    REQUIRE(back[0] == 40);
    REQUIRE(back[1] == 30);
    REQUIRE(link.b.collect_grants() == 0);
}

TEST_CASE("a transport does not delay packets of a caller that computes between them",
          "[transport][contract][lossless]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    constexpr std::uint32_t total = 20;
    Linked link(maker, {int(total)});
    REQUIRE(link.pump([&] { return !link.a.connecting() && !link.b.connecting(); }));
    link.settle();
    // From here on the sender does not poll.
    for (std::uint32_t n = 0; n < total; ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        link.a.send(header_of(0, n, 0), {});
    }
    for (int turn = 0; turn < turns_enough && link.at_b.packets.size() < total; ++turn) {
        link.pair->pass_time();
        link.pair->b().poll(link.at_b);
    }
    CHECK(link.at_b.packets.size() == total);
}

TEST_CASE("a transport sends the packet written into a reserved slot", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {6, 6});
    for (std::uint32_t n = 0; n < 6; ++n) {
        const std::size_t bytes = n == 5 ? slot_bytes : n * 100;
        const auto payload = pattern(bytes, n);
        const int virtual_channel = int(n % 2);
        std::byte* room = link.a.reserve(virtual_channel, bytes);
        REQUIRE(room != nullptr);
        std::copy(payload.begin(), payload.end(), room);
        link.a.commit(header_of(virtual_channel, n, bytes));
        if (n < 5) link.a.send(header_of(virtual_channel, 100 + n, bytes), payload);
    }
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 11; }));
    for (int c = 0; c < 2; ++c) {
        std::vector<std::uint32_t> order;
        for (const Seen& seen : link.at_b.packets) {
            REQUIRE(seen.payload == pattern(seen.payload.size(), seen.header.sequence % 100));
            if (seen.header.virtual_channel == c) order.push_back(seen.header.sequence);
        }
        const std::vector<std::uint32_t> even{0, 100, 2, 102, 4, 104};
        const std::vector<std::uint32_t> odd{1, 101, 3, 103, 5};
        REQUIRE(order == (c == 0 ? even : odd));
    }
}

TEST_CASE("a transport sends a payload in two parts as if it were one", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {8});
    const std::vector<std::pair<std::size_t, std::size_t>> sizes{
        {32, slot_bytes - 32}, {0, 5000}, {32, 0}, {1, 1}, {100, 4000}, {0, 0}};
    for (std::uint32_t n = 0; n < sizes.size(); ++n) {
        auto front = pattern(sizes[n].first, 2 * n);
        auto part = pattern(sizes[n].second, 2 * n + 1);
        link.a.send_parts(header_of(0, n, front.size() + part.size()), front, part);
        std::fill(front.begin(), front.end(), std::byte{0xee});
        std::fill(part.begin(), part.end(), std::byte{0xee});
    }
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == sizes.size(); }));
    for (std::uint32_t n = 0; n < sizes.size(); ++n) {
        auto expected = pattern(sizes[n].first, 2 * n);
        const auto part = pattern(sizes[n].second, 2 * n + 1);
        expected.insert(expected.end(), part.begin(), part.end());
        CHECK(link.at_b.packets[n].header.sequence == n);
        CHECK(link.at_b.packets[n].payload == expected);
    }
    CHECK(link.at_b.downs.empty());
}

TEST_CASE("a transport lets the payload be reused as soon as send returns",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    auto payload = pattern(3000, 1);
    link.a.send(header_of(0, 0, payload.size()), payload);
    std::fill(payload.begin(), payload.end(), std::byte{0xee});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 1; }));
    REQUIRE(link.at_b.packets[0].payload == pattern(3000, 1));
}

TEST_CASE("a transport connects when both ends are present, however late one of them is",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(4, {3})}, {port(9, {3})});
    const bool a_is_late = GENERATE(false, true);
    Interface& early = a_is_late ? pair->b() : pair->a();
    Interface& late = a_is_late ? pair->a() : pair->b();
    const std::uint32_t early_port = a_is_late ? 9 : 4;
    const std::uint32_t late_port = a_is_late ? 4 : 9;
    Channel& from_early = early.connect(late.address(), {early_port, late_port, true});
    const auto payload = pattern(500, 4);
    from_early.send(header_of(0, 1, 500), payload);
    Recorder at_early;
    Recorder at_late;
    for (int turn = 0; turn < 1000; ++turn) {
        pair->pass_time();
        early.poll(at_early);
    }
    Channel& from_late = late.connect(early.address(), {late_port, early_port, true});
    for (int turn = 0; turn < turns_enough && at_late.packets.empty(); ++turn) {
        pair->pass_time();
        early.poll(at_early);
        late.poll(at_late);
    }
    REQUIRE(at_late.packets.size() == 1);
    CHECK(at_late.packets[0].payload == payload);
    CHECK_FALSE(from_early.connecting());
    CHECK_FALSE(from_late.connecting());
    CHECK(at_early.downs.empty());
    CHECK(at_late.downs.empty());
}

TEST_CASE("core may close a channel while it handles a held packet", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {64});  // so many slots that their memory is one that the system takes back
    const auto payload = pattern(slot_bytes, 5);
    link.at_b.decide = [](const PacketHeader&) { return Verdict::held; };
    for (std::uint32_t n = 0; n < 3; ++n) link.a.send(header_of(0, n, slot_bytes), payload);
    REQUIRE(link.pump([&] { return link.at_b.offered > 2; }));
    link.at_b.decide = [&](const PacketHeader&) {
        link.b.close("enough");
        return Verdict::taken;
    };
    REQUIRE(link.pump([&] { return !link.at_b.packets.empty(); }));
    link.settle();  // what still comes, if anything, is core's to drop
    CHECK(link.at_b.packets[0].payload == payload);
    CHECK(link.at_b.downs.empty());
}

TEST_CASE("a transport announces a peer's connection to a port that is not connected",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {3}), port(1, {3})}, {port(5, {3}), port(6, {3})});
    Channel& early = pair->a().connect(pair->b().address(), {0, 5});
    const auto payload = pattern(500, 3);
    for (std::uint32_t n = 0; n < 3; ++n) early.send(header_of(0, n, 500), payload);

    Recorder at_a;  // polled too: where connecting is a conversation, both ends talk
    Recorder at_b;
    Channel* late = nullptr;
    const bool connect_inside = GENERATE(true, false);
    if (connect_inside)
        at_b.connect = [&](std::uint32_t number) {
            late = &pair->b().connect(pair->a().address(), {number, 0});
        };
    for (int turn = 0; turn < turns_enough && at_b.connects.empty(); ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.connects == std::vector<std::uint32_t>{5});
    REQUIRE(at_b.packets.empty());
    if (!connect_inside) late = &pair->b().connect(pair->a().address(), {5, 0});
    for (int turn = 0; turn < turns_enough && at_b.packets.size() < 3; ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.packets.size() == 3);
    for (std::uint32_t n = 0; n < 3; ++n) {
        REQUIRE(at_b.packets[n].channel == late);
        REQUIRE(at_b.packets[n].header.sequence == n);
        REQUIRE(at_b.packets[n].payload == payload);
    }
    // And back, over the channel that the announcement brought about.
    late->send(header_of(0, 42, 0), {});
    for (int turn = 0; turn < turns_enough && at_a.packets.empty(); ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_a.packets.size() == 1);
    REQUIRE(at_a.packets[0].channel == &early);
    REQUIRE(at_a.connects.empty());
    REQUIRE(at_b.connects.size() == 1);
}

TEST_CASE("a transport keeps two links between the same two processes apart",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {2}), port(1, {2})}, {port(0, {2}), port(1, {2})});
    Channel& a_plus = pair->a().connect(pair->b().address(), {0, 1});
    Channel& a_minus = pair->a().connect(pair->b().address(), {1, 0});
    Channel& b_plus = pair->b().connect(pair->a().address(), {0, 1});
    Channel& b_minus = pair->b().connect(pair->a().address(), {1, 0});
    a_plus.send(header_of(0, 1, 0), {});
    a_minus.send(header_of(0, 2, 0), {});
    a_plus.send(header_of(0, 3, 0), {});
    a_minus.send(header_of(0, 4, 0), {});
    b_plus.send(header_of(0, 5, 0), {});
    Recorder at_a;
    Recorder at_b;
    for (int turn = 0; turn < turns_enough && at_a.packets.size() + at_b.packets.size() < 5;
         ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.packets.size() == 4);
    for (const Seen& seen : at_b.packets)
        REQUIRE(seen.channel == (seen.header.sequence % 2 == 1 ? &b_minus : &b_plus));
    REQUIRE(at_a.packets.size() == 1);
    REQUIRE(at_a.packets[0].channel == &a_minus);
    REQUIRE(a_plus.owner == nullptr);
}

TEST_CASE("a transport refuses to connect to an invalid address", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {2})}, {port(0, {2})});
    auto address = pair->b().address();
    SECTION("empty") {
        address.clear();
    }
    SECTION("cut short") {
        address.pop_back();
    }
    SECTION("noise") {
        address = pattern(address.size(), 4);
    }
    REQUIRE_THROWS_AS(pair->a().connect(address, {0, 0}), std::runtime_error);
}

// While one end sleeps, no thread polls the other, which could not send again what its cable lost.
TEST_CASE("a transport's sleep ends if the wake came before it",
          "[transport][contract][lossless]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {2});
    link.settle();
    // A sleep that misses the wake-up ends only at the deadline, and fails the clock check.
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    link.pair->b().prepare_sleep();
    link.pair->b().wake();
    REQUIRE(link.pair->b().poll(link.at_b) == 0);
    link.pair->b().sleep(deadline);
    link.pair->b().cancel_sleep();
    REQUIRE(Clock::now() < deadline);

    link.pair->b().prepare_sleep();
    link.a.send(header_of(0, 1, 0), {});
    link.pair->b().sleep(deadline);
    link.pair->b().cancel_sleep();
    REQUIRE(Clock::now() < deadline);
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 1; }));

    link.pair->b().prepare_sleep();
    link.pair->b().cancel_sleep();
    link.a.send(header_of(0, 2, 0), {});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 2; }));

    // The poll takes the packet that was sent before, or the packet ends the sleep.
    link.a.send(header_of(0, 3, 0), {});
    link.pair->b().prepare_sleep();
    if (link.pair->b().poll(link.at_b) == 0) link.pair->b().sleep(deadline);
    link.pair->b().cancel_sleep();
    REQUIRE(Clock::now() < deadline);
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 3; }));
}

}  // namespace transport_contract_test
