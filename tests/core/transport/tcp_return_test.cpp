// SPDX-License-Identifier: BSD-3-Clause
// Links whose cable has died: only the same two ends connect them again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>

#include "besieged.h"

using namespace torusmp;
using namespace torusmp::transport;
using namespace torusmp::transport::testing;

namespace tcp_return_test {
namespace {

using std::chrono::milliseconds;

tcp::InterfaceOptions sparing(const char* host, milliseconds timeout = std::chrono::minutes(1)) {
    tcp::InterfaceOptions options = testing::options(host);
    options.timeout = timeout;
    options.spares_links = true;
    return options;
}

// Two ends of a link.
struct Ends {
    explicit Ends(const ChannelOptions& options)
        : a(one_port(1), testing::options("a")),
          b(one_port(1), testing::options("b")),
          how(options) {}
    explicit Ends(milliseconds timeout = std::chrono::minutes(1))
        : a(one_port(1), sparing("a", timeout)), b(one_port(1), sparing("b", timeout)) {
        connect_a();
        connect_b();
    }
    void connect_a() { from_a = &a.connect(b.address(), how); }
    void connect_b() { from_b = &b.connect(a.address(), how); }
    template <class Done>
    bool turn_until(Done&& done) {
        const auto end = Clock::now() + std::chrono::seconds(30);
        while (!done()) {
            if (Clock::now() > end) return false;
            a.poll(at_a);
            b.poll(at_b);
        }
        return true;
    }
    bool meet() {
        return turn_until([&] { return !from_a->connecting() && !from_b->connecting(); }) &&
               at_a.downs.empty() && at_b.downs.empty();
    }
    bool talk() {
        const std::size_t before = at_b.packets.size();
        from_a->send(header_of(0, 7, 3), pattern(3, 7));
        return turn_until([&] { return at_b.packets.size() > before; }) &&
               at_b.packets.back().channel == from_b;
    }

    tcp::TcpInterface a, b;
    ChannelOptions how{1, 1, true};
    Recorder at_a, at_b;
    Channel* from_a = nullptr;
    Channel* from_b = nullptr;
};

const ChannelOptions on_demand{.local_port = 1, .remote_port = 1, .renews = true};

std::size_t descriptors_open() {
    const std::filesystem::directory_iterator all("/proc/self/fd"), end;
    return std::size_t(std::distance(all, end));
}

// A call of the peer that belongs to the link, or of another rank of the job.
bool call(Besieged& besieged, base::Descriptor& socket, const Id& caller) {
    socket = besieged.dial();
    tcp::Introduction said = introduction(besieged);
    said.caller = caller;
    Handshake handshake = Handshake::call(secret_of("the job's"), said);
    return besieged.get_in(socket, handshake);
}

}  // namespace

TEST_CASE("a link that has gone down is connected again, whichever end knows first", "[tcp]") {
    Ends ends;
    REQUIRE(ends.meet());
    const int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
        INFO("round " << round);
        const bool by_a = round % 2 == 0;
        Channel* const notified = by_a ? ends.from_b : ends.from_a;
        Recorder& at_notified = by_a ? ends.at_b : ends.at_a;
        (by_a ? ends.from_a : ends.from_b)->close("a test");
        by_a ? ends.connect_a() : ends.connect_b();
        REQUIRE(ends.turn_until([&] { return !at_notified.downs.empty(); }));
        REQUIRE(at_notified.downs.size() == 1);
        CHECK(at_notified.downs.front().first == notified);
        CHECK(notified->has_met());
        at_notified.downs.clear();
        if (round % 3 == 0) ends.turn_until([turns = 0]() mutable { return ++turns > 100; });
        by_a ? ends.connect_b() : ends.connect_a();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
    }
}

TEST_CASE("links that are connected again and again leave nothing behind", "[tcp]") {
    Ends ends;
    REQUIRE(ends.meet());
    std::size_t before = 0;
    for (int round = 0; round < 200; ++round) {
        ends.from_a->close("a test");
        ends.connect_a();
        ends.from_b->close("a test");
        ends.connect_b();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
        if (round == 10) before = descriptors_open();
    }
    CHECK(descriptors_open() <= before + 2);
}

TEST_CASE(
    "a connection on demand is renewed by the end that needs it, whatever the other end knows",
    "[tcp]") {
    Ends ends(on_demand);
    std::size_t asked = 0;  // times that the end was, which has not connected
    const auto renew = [&](bool by_a) {
        Recorder& other = by_a ? ends.at_b : ends.at_a;
        asked = other.connects.size();
        by_a ? ends.connect_a() : ends.connect_b();
        REQUIRE(ends.turn_until([&] { return other.connects.size() > asked; }));
        by_a ? ends.connect_b() : ends.connect_a();
        REQUIRE(ends.turn_until(
            [&] { return !ends.from_a->connecting() && !ends.from_b->connecting(); }));
        ends.at_a.downs.clear();
        ends.at_b.downs.clear();
        REQUIRE(ends.talk());
        CHECK(ends.at_a.downs.empty());
        CHECK(ends.at_b.downs.empty());
    };
    renew(true);
    const std::size_t before = descriptors_open();
    for (int round = 0; round < 60; ++round) {
        INFO("round " << round);
        const bool by_a = round % 2 == 0;
        (by_a ? ends.from_a : ends.from_b)->close("a test");
        Recorder& notified = by_a ? ends.at_b : ends.at_a;
        if (round % 3 != 0) REQUIRE(ends.turn_until([&] { return !notified.downs.empty(); }));
        renew(round % 3 == 1 ? !by_a : by_a);
    }
    CHECK(descriptors_open() <= before + 2);
}

TEST_CASE("both ends of a connection on demand may open it at the same time", "[tcp]") {
    Ends ends(on_demand);
    for (int round = 0; round < 30; ++round) {
        INFO("round " << round);
        ends.connect_a();
        ends.connect_b();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
        ends.from_a->close("a test");
        ends.from_b->close("a test");
    }
}

TEST_CASE("a link that is called again has lost its connection, and is connected when core asks",
          "[tcp]") {
    Besieged besieged(sparing("victim"));
    Channel& first = besieged.expect_peer(enemy_id());
    base::Descriptor old, fresh;
    REQUIRE(call(besieged, old, enemy_id()));
    fresh = besieged.dial();
    Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
    Channel* second = nullptr;
    besieged.recorder.connect = [](std::uint32_t) { FAIL("core is asked for a port it has"); };
    // Core hears of the death in the course of the handshake, and connects the link again.
    struct Core final : Sink {
        explicit Core(Besieged& owner) : besieged(owner) {}
        Verdict on_packet(Channel&, const PacketHeader&, const std::byte*) override {
            return Verdict::taken;
        }
        void on_notice(Channel&, std::uint64_t) override {}
        void on_transfer(Channel&, std::uint64_t, bool) override {}
        void on_connect(std::uint32_t) override { FAIL("this port is connected"); }
        void on_down(Channel& channel, std::string_view why) override {
            downs.emplace_back(&channel, std::string(why));
            again = &besieged.expect_peer(enemy_id());
        }
        Besieged& besieged;
        std::vector<std::pair<Channel*, std::string>> downs;
        Channel* again = nullptr;
    } core(besieged);
    std::array<std::byte, 256> buffer{};
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (!handshake.finished() && Clock::now() < end) {
        const auto out = handshake.to_write();
        if (!out.empty() && ::send(fresh.get(), out.data(), out.size(), MSG_NOSIGNAL) > 0)
            handshake.written(out.size());
        const ssize_t got = recv(fresh.get(), buffer.data(),
                                 std::min(handshake.wants(), buffer.size()), MSG_DONTWAIT);
        if (got > 0) REQUIRE(handshake.read(std::span(buffer).first(std::size_t(got))));
        besieged.victim.poll(core);
    }
    second = core.again;
    REQUIRE(handshake.finished());
    REQUIRE(core.downs.size() == 1);
    CHECK(core.downs.front().first == &first);
    CHECK_THAT(core.downs.front().second, Catch::Contains("reconnects"));
    REQUIRE(second != nullptr);
    CHECK_FALSE(second->connecting());
    CHECK(besieged.dropped(old));
}

TEST_CASE("a link without a cable is reported once, and then waits as long as necessary", "[tcp]") {
    Ends ends(milliseconds(20));
    REQUIRE(ends.meet());
    Address nowhere = Address::decode(ends.b.address());
    nowhere.anywhere.listens_on = 1;  // where no socket listens
    const auto again = [&] {
        ends.from_a = &ends.a.connect(nowhere.encode(), {1, 1, true});
        const bool reported = ends.turn_until([&] { return !ends.at_a.downs.empty(); });
        REQUIRE(reported);
        CHECK_FALSE(ends.from_a->has_met());
        ends.at_a.downs.clear();
    };
    ends.from_a->close("a test");
    again();
    ends.from_a = &ends.a.connect(ends.b.address(), {1, 1, true});  // the cable is back
    ends.from_b->close("a test");
    ends.connect_b();
    const auto end = Clock::now() + milliseconds(500);
    while (Clock::now() < end) {
        ends.a.poll(ends.at_a);
        ends.b.poll(ends.at_b);
    }
    ends.at_b.downs.clear();
    ends.at_a.downs.clear();  // on a busy machine the call takes longer than its patience
    REQUIRE(ends.meet());
    CHECK(ends.talk());
    ends.from_a->close("a test");
    again();  // with the full patience of a new death
}

TEST_CASE("an end that waits for a call detects by itself that its cable is dead", "[tcp]") {
    Besieged besieged(sparing("victim", milliseconds(200)));
    Address nowhere = besieged.address();
    nowhere.id = enemy_id();  // the larger one, which calls
    nowhere.anywhere.listens_on = 1;
    besieged.victim.connect(nowhere.encode(), {1, 1, true});
    REQUIRE(besieged.turn_until([&] { return !besieged.recorder.downs.empty(); }));
    CHECK_THAT(besieged.recorder.downs.front().second, Catch::Contains("cannot connect"));
}

TEST_CASE("an end that waits for a call waits for a slow process", "[tcp]") {
    Besieged besieged(sparing("victim", milliseconds(20)));
    Besieged computes(sparing("enemy"));  // only its kernel answers
    Address enemy = computes.address();
    enemy.id = enemy_id();
    Channel& channel = besieged.victim.connect(enemy.encode(), {1, 1, true});
    const auto end = Clock::now() + milliseconds(300);
    while (Clock::now() < end) besieged.turn();
    CHECK(besieged.recorder.downs.empty());
    CHECK(channel.connecting());
}

TEST_CASE("a cable that is held down is not tried before its pause is over", "[tcp]") {
    Ends ends;
    REQUIRE(ends.meet());
    const milliseconds pause(300);
    const auto begun = Clock::now();
    ends.from_a->close("a test");
    ends.from_b->close("a test");
    ends.from_a = &ends.a.connect(ends.b.address(), {1, 1, true, pause});
    ends.from_b = &ends.b.connect(ends.a.address(), {1, 1, true, pause});
    REQUIRE(ends.meet());
    CHECK(Clock::now() - begun >= pause);
    CHECK(ends.talk());
}

TEST_CASE("a different rank at the other end of a returned cable is refused and named", "[tcp]") {
    Besieged besieged(sparing("victim", milliseconds(300)));
    besieged.expect_peer(enemy_id());
    base::Descriptor socket, other;
    REQUIRE(call(besieged, socket, enemy_id()));
    socket.reset();
    REQUIRE(besieged.turn_until([&] { return !besieged.recorder.downs.empty(); }));
    besieged.recorder.downs.clear();
    Channel& again = besieged.expect_peer(enemy_id());
    Id stranger = enemy_id();
    stranger[3] = std::byte{1};
    CHECK_FALSE(call(besieged, other, stranger));
    CHECK(again.connecting());
    REQUIRE(besieged.turn_until([&] { return !besieged.recorder.downs.empty(); }));
    CHECK(besieged.recorder.downs.front().first == &again);
    CHECK_FALSE(again.has_met());
    CHECK_THAT(besieged.recorder.downs.front().second,
               Catch::Contains("another rank of the job, at "));
}

TEST_CASE("memory that peers write to is found by the key that they hold", "[tcp]") {
    tcp::TcpInterface owner(one_port(1), sparing("owner"));
    std::vector<std::byte> memory(100);
    const RemoteMemory remote = owner.register_memory(memory, nullptr);
    CHECK(owner.registered(remote, 10, 90).data() == memory.data() + 10);
    CHECK(owner.registered(remote, 10, 90).size() == 90);
    CHECK(owner.registered(remote, 10, 91).empty());
    owner.deregister_memory(remote);
    CHECK(owner.registered(remote, 10, 90).empty());
}

}  // namespace tcp_return_test
