// SPDX-License-Identifier: BSD-3-Clause
// The guarantees of the simulated transport itself: it catches misuse, it reorders only what may be
// reordered, it kills only what a test selects, and a seed always gives the same run.

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "core/transport/sim/world.h"
#include "recorder.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using sim::World;
using sim::WorldOptions;

namespace {

PortOptions slots(int a, int b = 0) {
    PortOptions options;
    options.virtual_channels = b > 0 ? 2 : 1;
    options.credits = {std::uint8_t(a), std::uint8_t(b)};
    options.slot_bytes = 4096;
    return options;
}

sim::InterfaceOptions any_port(int a, int b = 0) {
    sim::InterfaceOptions options;
    options.other = slots(a, b);
    return options;
}

// Two interfaces and `links` links between them, port n to port n.
struct Couple {
    explicit Couple(WorldOptions options = {}, int links = 1, int credits = 4)
        : world(options),
          a(world.create(any_port(credits, credits))),
          b(world.create(any_port(credits, credits))) {
        for (std::uint32_t n = 0; n < std::uint32_t(links); ++n) {
            from_a.push_back(&a->connect(b->address(), {n, n}));
            from_b.push_back(&b->connect(a->address(), {n, n}));
        }
    }
    void run() {
        while (const auto who = world.step()) {
            if (*who == 0) a->poll(at_a);
            if (*who == 1) b->poll(at_b);
        }
    }

    World world;
    std::unique_ptr<sim::Interface> a;
    std::unique_ptr<sim::Interface> b;
    std::vector<Channel*> from_a;
    std::vector<Channel*> from_b;
    Recorder at_a;
    Recorder at_b;
};

WorldOptions slow_death() {
    WorldOptions options;
    options.down_within = sim::Time(500'000);
    return options;
}

}  // namespace

TEST_CASE("the sim detects a packet without a free slot", "[sim]") {
    Couple couple;
    for (std::uint32_t n = 0; n < 4; ++n) couple.from_a[0]->send(header_of(0, n, 0), {});
    couple.from_a[0]->send(header_of(1, 9, 0), {});
    REQUIRE_THROWS_WITH(couple.from_a[0]->send(header_of(0, 4, 0), {}),
                        Catch::Contains("finds no slot: all 4 are in use"));
    SECTION("a held packet keeps its slot") {
        couple.at_b.decide = [](const PacketHeader&) { return Verdict::held; };
        couple.run();
        REQUIRE_THROWS_AS(couple.from_a[0]->send(header_of(0, 4, 0), {}), std::logic_error);
    }
    SECTION("a taken packet frees it") {
        couple.run();
        couple.from_a[0]->send(header_of(0, 4, 0), {});
        couple.run();
        REQUIRE(couple.at_b.packets.size() == 6);
    }
}

TEST_CASE("the sim detects credits that are given back twice or were never taken", "[sim]") {
    Couple couple;
    REQUIRE_THROWS_WITH(couple.from_b[0]->grant(credit_of(0)), Catch::Contains("but owes 0"));
    couple.from_a[0]->send(header_of(1, 0, 0), {});
    couple.run();
    REQUIRE(couple.world.credits_away() == 1);
    REQUIRE_THROWS_AS(couple.from_b[0]->grant(credit_of(0)), std::logic_error);
    PacketHeader carrier = header_of(0, 0, 0);
    carrier.grants = credit_of(1);
    couple.from_b[0]->send(carrier, {});
    REQUIRE(couple.world.credits_away() == 0);
    REQUIRE_THROWS_AS(couple.from_b[0]->grant(credit_of(1)), std::logic_error);
}

TEST_CASE("the sim detects misuse of reserve and commit, wrong lengths and wrong virtual channels",
          "[sim]") {
    Couple couple;
    Channel& channel = *couple.from_a[0];
    REQUIRE_THROWS_AS(channel.commit(header_of(0, 0, 0)), std::logic_error);
    REQUIRE_THROWS_AS(channel.send(header_of(2, 0, 0), {}), std::logic_error);
    REQUIRE_THROWS_AS(channel.send(header_of(0, 0, 5), {}), std::logic_error);
    const std::vector<std::byte> large(4097);
    REQUIRE_THROWS_AS(channel.send(header_of(0, 0, large.size()), large), std::logic_error);
    channel.reserve(0, 8);
    REQUIRE_THROWS_AS(channel.reserve(0, 8), std::logic_error);
    REQUIRE_THROWS_AS(channel.send(header_of(0, 0, 0), {}), std::logic_error);
    REQUIRE_THROWS_AS(channel.commit(header_of(0, 0, 9)), std::logic_error);
    REQUIRE_THROWS_AS(channel.commit(header_of(1, 0, 8)), std::logic_error);
    channel.commit(header_of(0, 0, 8));
    REQUIRE(couple.world.in_flight() == 1);
}

TEST_CASE("the sim lets packets of different links overtake each other", "[sim]") {
    Couple couple({}, 8, 50);
    for (std::uint32_t n = 0; n < 400; ++n) couple.from_a[n % 8]->send(header_of(0, n, 0), {});
    couple.run();
    REQUIRE(couple.at_b.packets.size() == 400);
    int overtakings = 0;
    for (std::size_t i = 1; i < 400; ++i)
        overtakings +=
            couple.at_b.packets[i].header.sequence < couple.at_b.packets[i - 1].header.sequence;
    REQUIRE(overtakings > 10);
}

TEST_CASE("the sim gives the same run for the same seed, and a different run for another seed",
          "[sim]") {
    const auto run = [](std::uint64_t seed) {
        WorldOptions options;
        options.seed = seed;
        Couple couple(options, 4, 50);
        for (std::uint32_t n = 0; n < 100; ++n)
            couple.from_a[n % 4]->send(header_of(int(n / 4 % 2), n, 0), {});
        couple.run();
        std::vector<std::uint32_t> order;
        for (const Seen& seen : couple.at_b.packets) order.push_back(seen.header.sequence);
        return std::pair(order, couple.world.now());
    };
    REQUIRE(run(3) == run(3));
    REQUIRE(run(3) != run(4));
}

TEST_CASE("a link of the sim that dies loses what is under way and notifies both ends in time",
          "[sim]") {
    Couple couple(slow_death(), 2);
    couple.from_a[0]->send(header_of(0, 1, 0), {});
    couple.run();
    couple.from_a[0]->send(header_of(0, 2, 0), {});
    couple.from_a[1]->send(header_of(0, 3, 0), {});
    const sim::Time death = couple.world.now();
    couple.world.kill_link(*couple.a, 0);
    couple.from_a[0]->send(header_of(0, 4, 0), {});
    couple.from_b[0]->grant(credit_of(0));
    couple.run();
    REQUIRE(couple.world.now() - death <= sim::Time(500'000));
    REQUIRE(couple.at_b.packets.size() == 2);
    REQUIRE(couple.at_b.packets[1].header.sequence == 3);
    REQUIRE(couple.at_a.downs.size() == 1);
    REQUIRE(couple.at_b.downs.size() == 1);
    REQUIRE(couple.at_a.downs[0].first == couple.from_a[0]);
    REQUIRE(couple.at_b.downs[0].first == couple.from_b[0]);
    REQUIRE_THAT(couple.at_a.downs[0].second, Catch::Contains("was cut"));
    // The other link goes on, and nothing more is reported about the dead one.
    couple.from_a[0]->send(header_of(0, 5, 0), {});
    couple.from_a[1]->send(header_of(0, 6, 0), {});
    couple.run();
    REQUIRE(couple.at_b.packets.size() == 3);
    REQUIRE(couple.at_b.downs.size() == 1);
    REQUIRE_THROWS_AS(couple.world.kill_link(*couple.a, 0), std::invalid_argument);
}

TEST_CASE("a held packet of the sim is lost with its link", "[sim]") {
    Couple couple;
    couple.at_b.decide = [](const PacketHeader&) { return Verdict::held; };
    couple.from_a[0]->send(header_of(0, 1, 0), {});
    couple.run();
    REQUIRE(couple.b->holding());
    couple.world.kill_link(*couple.b, 0);
    couple.run();
    couple.at_b.decide = nullptr;
    couple.b->poll(couple.at_b);
    REQUIRE(couple.at_b.packets.empty());
    REQUIRE(couple.at_b.downs.size() == 1);
    REQUIRE_FALSE(couple.b->holding());
}

TEST_CASE("transfers of the sim fail with their link before it is reported", "[sim]") {
    WorldOptions options;
    options.transfer = {sim::Time(900'000), sim::Time(900'000), 0.0, {}};
    Couple couple(options);
    const auto data = pattern(1000, 1);
    std::vector<std::byte> memory(1000);
    const RemoteMemory remote = couple.b->register_memory(memory, nullptr);
    REQUIRE(write(*couple.from_a[0], remote, 0, data, 11) == Transfer::pending);
    couple.world.advance(sim::Time(1000));
    couple.world.kill_link(*couple.a, 0);
    REQUIRE(write(*couple.from_a[0], remote, 0, data, 12) == Transfer::pending);
    couple.run();
    using Ends = std::vector<std::pair<std::uint64_t, bool>>;
    REQUIRE(couple.at_a.transfers == Ends{{11, false}, {12, false}});
    REQUIRE(couple.at_a.downs.size() == 1);
    REQUIRE(write(*couple.from_a[0], remote, 0, data, 13) == Transfer::refused);
    // Some of the bytes may have got there, and none but the right ones.
    for (std::size_t i = 0; i < memory.size(); ++i)
        REQUIRE((memory[i] == data[i] || memory[i] == std::byte{0}));
}

TEST_CASE("a pending write of the sim moves its bytes only when it is done", "[sim]") {
    Couple couple;
    auto data = pattern(100, 1);
    std::vector<std::byte> memory(100);
    REQUIRE(write(*couple.from_a[0], couple.b->register_memory(memory, nullptr), 0, data, 1) ==
            Transfer::pending);
    REQUIRE(memory == std::vector<std::byte>(100));
    const auto changed = pattern(100, 2);
    std::copy(changed.begin(), changed.end(), data.begin());
    couple.run();
    REQUIRE(memory == data);
    REQUIRE(couple.at_a.transfers.size() == 1);
}

TEST_CASE("the sim refuses keys that no peer created, and keys of other peers", "[sim]") {
    Couple couple;
    auto third = couple.world.create(any_port(4));
    std::vector<std::byte> memory(100);
    std::vector<std::byte> local(10);
    const RemoteMemory good = couple.b->register_memory(memory, nullptr);
    REQUIRE(couple.from_a[0]->can_write(good));
    REQUIRE(couple.from_a[0]->can_read(good));
    std::vector<RemoteMemory> wild(6, good);
    wild[0].address += 8;
    wild[1].length += 1;
    wild[2].opaque[0] ^= 1;
    wild[3].opaque[0] = good.opaque[0] >> 32;  // the next port's
    wild[4] = third->register_memory(memory, nullptr);
    wild[5] = couple.a->register_memory(memory, nullptr);
    for (const RemoteMemory& remote : wild) {
        REQUIRE_FALSE(couple.from_a[0]->can_write(remote));
        REQUIRE_FALSE(couple.from_a[0]->can_read(remote));
        REQUIRE(write(*couple.from_a[0], remote, 0, local, 0) == Transfer::refused);
        REQUIRE(read(*couple.from_a[0], remote, 0, local, 0) == Transfer::refused);
    }
}

TEST_CASE("a process of the sim that dies takes its links along", "[sim]") {
    World world(slow_death());
    std::vector<std::unique_ptr<sim::Interface>> all;
    for (int i = 0; i < 3; ++i) all.push_back(world.create(any_port(4)));
    std::vector<Recorder> sinks(3);
    Channel* to[3][3] = {};
    for (std::uint32_t i = 0; i < 3; ++i)
        for (std::uint32_t k = 0; k < 3; ++k)
            if (i != k) to[i][k] = &all[i]->connect(all[k]->address(), {k, i});
    const auto run = [&] {
        while (const auto who = world.step()) all[*who]->poll(sinks[*who]);
    };
    to[0][1]->send(header_of(0, 1, 0), {});
    to[1][2]->send(header_of(0, 2, 0), {});
    to[0][2]->send(header_of(0, 3, 0), {});
    SECTION("killed") {
        world.kill(*all[1]);
    }
    SECTION("destroyed") {
        all[1].reset();
    }
    run();
    REQUIRE(sinks[1].packets.empty());
    REQUIRE(sinks[2].packets.size() == 1);
    REQUIRE(sinks[2].packets[0].header.sequence == 3);
    REQUIRE(sinks[0].downs.size() == 1);
    REQUIRE(sinks[0].downs[0].first == to[0][1]);
    REQUIRE(sinks[2].downs.size() == 1);
    REQUIRE(sinks[2].downs[0].first == to[2][1]);
    if (all[1] != nullptr) REQUIRE_THROWS_AS(all[1]->poll(sinks[1]), std::logic_error);
    // A rank that connects to it later is notified immediately.
    Channel& late = all[0]->connect(all[2]->address(), {9, 9});
    late.send(header_of(0, 4, 0), {});
    run();
    REQUIRE(sinks[2].connects == std::vector<std::uint32_t>{9});
}

TEST_CASE("the sim delivers injected packets, and an interposer can change others", "[sim]") {
    Couple couple;
    PacketHeader wild = header_of(0, 5, 0);
    wild.virtual_channel = 200;
    wild.length = 0xffffffff;
    wild.kind = 255;
    couple.world.inject(*couple.b, 0, wild, pattern(10, 1));
    couple.run();
    REQUIRE(couple.at_b.packets.size() == 1);
    REQUIRE(couple.at_b.packets[0].header.virtual_channel == 200);
    REQUIRE(couple.at_b.packets[0].header.kind == 255);
    REQUIRE(couple.at_b.packets[0].payload == pattern(10, 1));

    couple.world.set_interposer(
        [](std::size_t from, PacketHeader& header, std::vector<std::byte>& payload) {
            header.source = std::uint32_t(from) + 40;
            payload.pop_back();
        });
    const auto data = pattern(10, 2);
    couple.from_a[0]->send(header_of(0, 6, 10), data);
    couple.run();
    REQUIRE(couple.at_b.packets.size() == 2);
    REQUIRE(couple.at_b.packets[1].header.source == 40);
    REQUIRE(couple.at_b.packets[1].header.length == 9);
    REQUIRE(couple.at_b.packets[1].payload == std::vector<std::byte>(data.begin(), data.end() - 1));
}
