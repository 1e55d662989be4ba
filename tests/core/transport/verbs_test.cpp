// SPDX-License-Identifier: BSD-3-Clause
// The features specific to verbs: packets relayed from the slot in which they arrived, and messages
// about faulty devices, peers and settings. Runs if RDMA devices exist (verbs_pair.h), as root.
#include <catch2/catch.hpp>
#include <memory>

#include "verbs_cable.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using verbs::VerbsInterface;

namespace verbs_test {
TEST_CASE("a packet is relayed from the slot in which it arrived", "[verbs]") {
    const auto [first, second] = verbs_devices();
    VerbsInterface a(std::vector{port(0)}, verbs_options("a", first, {port(0)}));
    // Two ends on one device: what comes by one port leaves by the other.
    VerbsInterface b(std::vector{port(1), port(2)}, verbs_options("b", second, {port(1), port(2)}));
    VerbsInterface c(std::vector{port(3)}, verbs_options("c", first, {port(3)}));
    Channel& from_a = a.connect(b.address(), {0, 1, true});
    Channel& to_a = b.connect(a.address(), {1, 0, true});
    Channel& to_c = b.connect(c.address(), {2, 3, true});
    c.connect(b.address(), {3, 2, true});
    Recorder at_a;
    Recorder at_b;
    Recorder at_c;
    std::vector<std::byte> memory(400'000);
    const RemoteMemory remote = c.register_memory(memory, nullptr);
    bool place = false;
    // Forwards what comes from a, as a relay does: the payload is only looked at here.
    class Relay final : public Sink {
      public:
        std::function<Verdict(const PacketHeader&, ConstBytes)> pass;
        Verdict on_packet(Channel&, const PacketHeader& header, const std::byte* at) override {
            return pass(header, {at, header.length});
        }
        void on_notice(Channel&, std::uint64_t) override {}
        void on_transfer(Channel&, std::uint64_t, bool) override {}
        void on_connect(std::uint32_t) override {}
        void on_down(Channel&, std::string_view) override {}
    } relay;
    unsigned credits = 8;
    constexpr std::size_t front = 32;
    relay.pass = [&](const PacketHeader& header, ConstBytes payload) {
        if (credits == 0) return Verdict::held;
        --credits;
        if (place) {
            const std::size_t offset = header.sequence * (slot_bytes - front);
            to_c.send_placed(header, payload.first(front), payload.subspan(front),
                             {remote.address + offset, remote.as<PortKeys>().by_port[3]});
        } else {
            to_c.send(header, payload);
        }
        return Verdict::taken;
    };
    // Packets sent before a channel is open are kept as copies.
    unsigned mine = 7;
    --credits;
    to_c.send(header_of(0, 0, 0), {});
    from_a.send(header_of(0, 0, 0), {});
    REQUIRE(pump({{&a, &at_a}, {&c, &at_c}}, [&] {
        b.poll(relay);
        return at_c.packets.size() == 2;
    }));
    at_c.packets[0].channel->grant(credit_of(0));
    at_c.packets[0].channel->grant(credit_of(0));
    to_a.grant(credit_of(0));
    for (const bool placed : {false, true}) {
        place = placed;
        at_c.packets.clear();
        std::uint32_t sent = 0;
        std::size_t given = 0;
        std::size_t passed = 0;
        const std::uint32_t total = 20;
        const auto end = Clock::now() + patience;
        while (at_c.packets.size() < total && Clock::now() < end) {
            for (; mine != 0 && sent < total; --mine, ++sent) {
                const auto payload = pattern(slot_bytes, sent);
                from_a.send(header_of(0, sent, payload.size()), payload);
            }
            a.poll(at_a);
            b.poll(relay);
            credits += credits_in(to_c.collect_grants(), 0);
            c.poll(at_c);
            for (; given < at_c.packets.size(); ++given)
                at_c.packets[given].channel->grant(credit_of(0));
            mine += credits_in(from_a.collect_grants(), 0);
            // The slots of packets that b has relayed are free again at b.
            for (; passed < at_c.packets.size(); ++passed) to_a.grant(credit_of(0));
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        REQUIRE(at_c.packets.size() == total);
        for (std::uint32_t n = 0; n < total; ++n) {
            const auto payload = pattern(slot_bytes, n);
            const std::vector<std::byte> head(payload.begin(), payload.begin() + front);
            REQUIRE(at_c.packets[n].header.sequence == n);
            REQUIRE(at_c.packets[n].payload == (placed ? head : payload));
            if (placed)
                REQUIRE(std::memcmp(memory.data() + n * (slot_bytes - front),
                                    payload.data() + front, slot_bytes - front) == 0);
        }
    }
    CHECK(b.traffic().forwarded == 40);
    CHECK(b.traffic().copied == 0);
    c.deregister_memory(remote);
}

TEST_CASE("unusable devices are named with the remedy", "[verbs]") {
    const auto open = [](const std::string& device, int gid_index) {
        auto options = verbs_options("qcd000", device, {port(0)});
        options.gid_index = gid_index;
        VerbsInterface interface(std::vector{port(0)}, options);
    };
    CHECK_THROWS_WITH(open("lo", -1), Catch::Contains("qcd000") && Catch::Contains("device lo") &&
                                          Catch::Contains("rdma link add"));
    CHECK_THROWS_WITH(open("nothing0", -1), Catch::Contains("nothing0"));
    CHECK_THROWS_WITH(open(verbs_devices().first, 77), Catch::Contains("verbs.gid_index") &&
                                                           Catch::Contains("77") &&
                                                           Catch::Contains("0 (fe80"));
}

TEST_CASE("a peer without the job's secret is ignored, and the end that waits for it reports it",
          "[verbs]") {
    auto a_options = verbs_options("a", verbs_devices().first, {port(0)});
    auto b_options = verbs_options("b", verbs_devices().second, {port(1)});
    a_options.timeout = b_options.timeout = std::chrono::milliseconds(400);
    b_options.secret[0] ^= std::byte(1);
    VerbsInterface a(std::vector{port(0)}, a_options);
    VerbsInterface b(std::vector{port(1)}, b_options);
    a.connect(b.address(), {0, 1, true});
    b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}},
                 [&] { return !at_a.downs.empty() && !at_b.downs.empty(); }));
    CHECK_THAT(at_a.downs.front().second,
               Catch::Contains("not connected within 0.4 s") && Catch::Contains(" of b"));
}

TEST_CASE("ends with different settings do not connect", "[verbs]") {
    VerbsInterface a(std::vector{port(0, 8)}, verbs_options("a", verbs_devices().first, {port(0)}));
    VerbsInterface b(std::vector{port(1, 9)},
                     verbs_options("b", verbs_devices().second, {port(1)}));
    a.connect(b.address(), {0, 1, true});
    b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}},
                 [&] { return !at_a.downs.empty() && !at_b.downs.empty(); }));
    CHECK_THAT(at_a.downs.front().second, Catch::Contains("do not match"));
}

TEST_CASE("a peer that gives up a link, or has ended, is reported at the other end", "[verbs]") {
    SECTION("by closing it") {
        Cable cable;
        std::vector<std::byte> memory(100);
        REQUIRE(cable.write(memory, pattern(100, 1)));
        cable.to_b.close("enough of it");
        REQUIRE(cable.turn_until([&] { return !cable.at_b.downs.empty(); }));
        CHECK_THAT(cable.at_b.downs.front().second, Catch::Contains("enough of it"));
        CHECK(cable.at_a.downs.empty());
    }
    SECTION("by a goodbye, which is not a fault") {
        auto a = std::make_unique<VerbsInterface>(
            std::vector{port(0)}, verbs_options("a", verbs_devices().first, {port(0)}));
        VerbsInterface b(std::vector{port(1)},
                         verbs_options("b", verbs_devices().second, {port(1)}));
        Channel& to_b = a->connect(b.address(), {0, 1, true});
        b.connect(a->address(), {1, 0, true});
        Recorder at_a;
        Recorder at_b;
        to_b.send(header_of(0, 1, 0), {});
        REQUIRE(pump({{a.get(), &at_a}, {&b, &at_b}}, [&] { return at_b.packets.size() == 1; }));
        a.reset();
        for (int i = 0; i < 2000; ++i) b.poll(at_b);
        CHECK(at_b.downs.empty());
    }
}

TEST_CASE("every packet finds a slot, however few credits a link has", "[verbs]") {
    std::vector<PortOptions> ports{port(0, 2)};
    auto ports_b = std::vector{port(1, 2)};
    VerbsInterface a(ports, verbs_options("a", verbs_devices().first, ports));
    VerbsInterface b(ports_b, verbs_options("b", verbs_devices().second, ports_b));
    Channel& to_b = a.connect(b.address(), {0, 1, true});
    Channel& to_a = b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    std::vector<std::byte> memory(64);
    const RemoteMemory remote = b.register_memory(memory, &to_a);
    const auto data = pattern(64, 1);
    // One way only: packets whose credits come home alone, and a crowd of notices.
    unsigned credits = 2;
    std::uint32_t sent = 0;
    std::size_t given = 0;
    std::uint64_t notices = 0;
    const std::uint32_t total = 500;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}}, [&] {
        for (; given < at_b.packets.size(); ++given) to_a.grant(credit_of(0));
        credits += credits_in(to_b.collect_grants(), 0);
        for (; credits != 0 && sent < total; --credits, ++sent)
            to_b.send(header_of(0, sent, 0), {});
        for (int i = 0; i < 3 && notices < total; ++i, ++notices)
            testing::write(to_b, remote, 0, data, notices, notices);
        return at_b.packets.size() == total && at_b.notices.size() == total && credits == 2;
    }));
    for (std::uint32_t n = 0; n < total; ++n) {
        REQUIRE(at_b.packets[n].header.sequence == n);
        REQUIRE(at_b.notices[n] == n);
    }
    CHECK(a.device_counters().receiver_not_ready == 0);
    CHECK(b.device_counters().receiver_not_ready == 0);
    b.deregister_memory(remote);
}

}  // namespace verbs_test
