// SPDX-License-Identifier: BSD-3-Clause
// Links whose cable has died: the same two ends connect them again with new queue pairs.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "core/transport/verbs/greeter.h"
#include "verbs_cable.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using verbs::VerbsInterface;

namespace verbs_return_test {
namespace {

using std::chrono::milliseconds;

verbs::InterfaceOptions sparing(const char* host, const std::string& device, milliseconds timeout) {
    verbs::InterfaceOptions options = verbs_options(host, device, {port(0), port(1)});
    options.timeout = timeout;
    options.spares_links = true;
    return options;
}

void ip(const std::string& words) {
    REQUIRE(std::system(("ip link set dev " + words).c_str()) == 0);
}

// Two ends of a link, port 0 of a and port 1 of b.
struct Ends {
    explicit Ends(milliseconds timeout = std::chrono::minutes(1))
        : a(std::vector{port(0)}, sparing("a", verbs_devices().first, timeout)),
          b(std::vector{port(1)}, sparing("b", verbs_devices().second, timeout)) {
        connect_a();
        connect_b();
    }
    ~Ends() { heal(); }
    void connect_a() { from_a = &a.connect(b.address(), {0, 1, true}); }
    void connect_b() { from_b = &b.connect(a.address(), {1, 0, true}); }
    template <class Done>
    bool turn_until(Done&& done) {
        return pump({{&a, &at_a}, {&b, &at_b}}, std::forward<Done>(done));
    }
    bool meet() {
        return turn_until([&] { return !from_a->connecting() && !from_b->connecting(); }) &&
               at_a.downs.empty() && at_b.downs.empty();
    }
    // Packets both ways, as many as there are credits, and a remote write.
    bool talk() {
        at_a.packets.clear();
        at_b.packets.clear();
        at_b.notices.clear();
        std::fill(memory.begin(), memory.end(), std::byte(0));
        const RemoteMemory remote = b.register_memory(memory, from_b);
        for (std::uint32_t n = 0; n < 8; ++n) {
            from_a->send(header_of(0, n, slot_bytes), pattern(slot_bytes, n));
            from_b->send(header_of(0, n, 3), pattern(3, n));
        }
        if (testing::write(*from_a, remote, 0, data, 5, 6) != Transfer::pending) return false;
        const bool arrived = turn_until([&] {
            return at_a.packets.size() == 8 && at_b.packets.size() == 8 && !at_b.notices.empty();
        });
        b.deregister_memory(remote);
        if (!arrived || memory != data) return false;
        for (std::uint32_t n = 0; n < 8; ++n)
            if (at_b.packets[n].payload != pattern(slot_bytes, n) ||
                at_b.packets[n].channel != from_b)
                return false;
        from_b->grant(8 * credit_of(0));
        from_a->grant(8 * credit_of(0));
        return true;
    }
    // Gives the channel something to do that is not complete when the cable dies.
    void load(Channel& channel, const RemoteMemory& remote) {
        for (std::uint32_t n = 0; n < 4; ++n)
            channel.send(header_of(0, n, slot_bytes), pattern(slot_bytes, n));
        testing::write(channel, remote, 0, data, 7, 8);
    }
    void cut() { ip(verbs_devices().first + " down"); }
    void heal() { ip(verbs_devices().first + " up"); }

    VerbsInterface a, b;
    Recorder at_a, at_b;
    Channel* from_a;
    Channel* from_b;
    std::vector<std::byte> memory = std::vector<std::byte>(300'000);
    const std::vector<std::byte> data = pattern(300'000, 9);
};

std::string kibibytes_in_slots(const VerbsInterface& interface) {
    const std::string text = interface.statistics();
    const std::size_t end = text.find(" KiB in slots");
    return text.substr(text.rfind(' ', end - 1), end);
}

}  // namespace

TEST_CASE("a link over RDMA that has gone down is connected again, whichever end knows first",
          "[verbs]") {
    Ends ends;
    REQUIRE(ends.meet());
    for (int round = 0; round < 12; ++round) {
        INFO("round " << round);
        const bool by_a = round % 2 == 0;
        Channel* const notified = by_a ? ends.from_b : ends.from_a;
        Recorder& at_notified = by_a ? ends.at_b : ends.at_a;
        const RemoteMemory remote = ends.b.register_memory(ends.memory, ends.from_b);
        if (round % 3 != 0) ends.load(*ends.from_a, remote);
        (by_a ? ends.from_a : ends.from_b)->close("a test");
        by_a ? ends.connect_a() : ends.connect_b();
        REQUIRE(ends.turn_until([&] { return !at_notified.downs.empty(); }));
        ends.b.deregister_memory(remote);
        REQUIRE(at_notified.downs.size() == 1);
        CHECK(at_notified.downs.front().first == notified);
        CHECK(notified->has_met());
        at_notified.downs.clear();
        if (round % 4 == 0) ends.turn_until([turns = 0]() mutable { return ++turns > 100; });
        by_a ? ends.connect_b() : ends.connect_a();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
    }
    CHECK(ends.a.device_counters().receiver_not_ready == 0);
    CHECK(ends.b.device_counters().receiver_not_ready == 0);
}

TEST_CASE("links over RDMA that are connected again and again leave nothing behind", "[verbs]") {
    Ends ends;
    REQUIRE(ends.meet());
    const std::string slots = kibibytes_in_slots(ends.a);
    for (int round = 0; round < 30; ++round) {
        INFO("round " << round);
        const RemoteMemory remote = ends.b.register_memory(ends.memory, ends.from_b);
        ends.load(*ends.from_a, remote);
        for (int times = round % 3; times >= 0; --times) {  // as a cable that flaps
            ends.from_a->close("a test");
            ends.connect_a();
        }
        ends.from_b->close("a test");
        ends.b.deregister_memory(remote);
        ends.connect_b();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
    }
    CHECK(kibibytes_in_slots(ends.a) == slots);
}

TEST_CASE("a hello of a queue pair that is gone is not taken for a hello of the next one",
          "[verbs]") {
    Ends ends;
    REQUIRE(ends.meet());
    // As the first queue pair of a said it, and again after the link has died.
    const Address from = Address::decode(ends.a.address());
    const Address to = Address::decode(ends.b.address());
    const auto pair = choose_pair(from.endpoint(0), to.endpoint(1));
    REQUIRE(pair);
    verbs::Device device(verbs_devices().first, 0, -1, false);
    verbs::Greeter greeter(device);
    ibv_ah_attr path{};
    path.is_global = 1;
    path.port_num = device.port();
    path.grh.dgid = verbs::gid_from(pair->peer);
    path.grh.sgid_index = *device.gid_of(pair->own);
    path.grh.hop_limit = 64;
    const verbs::AddressHandle way(ibv_create_ah(device.domain(), &path));
    REQUIRE(way);
    const auto say = [&](std::uint32_t serial, std::uint32_t heard, std::uint32_t ready) {
        verbs::Hello hello{};
        hello.greeting = verbs::greeting;
        hello.version = wire_version;
        hello.ready = ready;
        hello.to_port = 1;
        hello.serial = serial;
        hello.heard = heard;
        hello.queue_pair = 1;
        hello.mtu = IBV_MTU_1024;
        hello.slot_bytes = slot_bytes;
        hello.credits = 8;
        hello.from = from.id;
        hello.to = to.id;
        hello.proof =
            prove(sparing("a", "", milliseconds(1)).secret,
                  std::as_bytes(std::span(&hello, 1)).first(offsetof(verbs::Hello, proof)));
        greeter.send(way.get(), to.endpoint(1).listens_on, hello);
    };
    const auto turn = [&](int turns) { ends.turn_until([&] { return --turns < 0; }); };
    // While the link is well, they change nothing.
    say(1, 1, 1);
    say(1, 0, 0);
    turn(300);
    REQUIRE(ends.at_b.downs.empty());
    REQUIRE(ends.talk());
    ends.from_a->close("a test");
    ends.from_b->close("a test");
    ends.connect_b();
    turn(300);
    say(1, 2, 1);
    say(1, 0, 0);
    turn(300);
    CHECK(ends.from_b->connecting());
    CHECK(ends.at_b.downs.empty());
    ends.connect_a();
    REQUIRE(ends.meet());
    REQUIRE(ends.talk());
}

TEST_CASE("a link over RDMA whose device goes down waits for it, and continues when it is back",
          "[verbs]") {
    Ends ends;
    REQUIRE(ends.meet());
    for (int round = 0; round < 3; ++round) {
        INFO("round " << round);
        const RemoteMemory remote = ends.b.register_memory(ends.memory, ends.from_b);
        ends.load(*ends.from_a, remote);
        ends.cut();
        REQUIRE(
            ends.turn_until([&] { return !ends.at_a.downs.empty() && !ends.at_b.downs.empty(); }));
        ends.b.deregister_memory(remote);
        CHECK(ends.from_a->has_met());
        ends.at_a.downs.clear();
        ends.at_b.downs.clear();
        ends.connect_a();
        ends.connect_b();
        ends.turn_until([turns = 0]() mutable { return ++turns > 300; });
        CHECK(ends.from_a->connecting());
        CHECK(ends.from_b->connecting());
        ends.heal();
        REQUIRE(ends.meet());
        REQUIRE(ends.talk());
    }
}

TEST_CASE("a link over RDMA without a cable is reported once, and then waits as long as necessary",
          "[verbs]") {
    Ends ends(milliseconds(1000));
    REQUIRE(ends.meet());
    ends.cut();
    REQUIRE(ends.turn_until([&] { return !ends.at_a.downs.empty(); }));
    ends.at_a.downs.clear();
    ends.connect_a();
    REQUIRE(ends.turn_until([&] { return !ends.at_a.downs.empty(); }));
    CHECK_FALSE(ends.from_a->has_met());
    CHECK_THAT(ends.at_a.downs.front().second,
               Catch::Contains("the cable is missing or dead: ") && Catch::Contains("is down"));
    ends.at_a.downs.clear();
    ends.connect_a();
    ends.from_b->close("a test");
    ends.connect_b();
    ends.at_b.downs.clear();
    REQUIRE(ends.turn_until([&] { return !ends.at_b.downs.empty(); }));
    CHECK_FALSE(ends.from_b->has_met());
    ends.at_b.downs.clear();
    ends.connect_b();
    const auto end = Clock::now() + milliseconds(3000);
    ends.turn_until([&] { return Clock::now() > end; });
    CHECK(ends.at_a.downs.empty());
    CHECK(ends.at_b.downs.empty());
    ends.heal();
    REQUIRE(ends.meet());
    CHECK(ends.talk());
}

TEST_CASE("the process at the other end of an RDMA cable may compute while its kernel answers",
          "[verbs]") {
    Ends ends(milliseconds(1000));
    REQUIRE(ends.meet());
    ends.from_a->close("a test");
    ends.connect_a();
    const auto end = Clock::now() + milliseconds(5000);
    while (Clock::now() < end) ends.a.poll(ends.at_a);
    CHECK(ends.at_a.downs.empty());
    REQUIRE(ends.turn_until([&] { return !ends.at_b.downs.empty(); }));
    ends.at_b.downs.clear();
    ends.connect_b();
    REQUIRE(ends.meet());
    CHECK(ends.talk());
}

TEST_CASE("a link over RDMA that is dead at the start comes up with its cable", "[verbs]") {
    const auto [first, second] = verbs_devices();
    ip(first + " down");
    CHECK_THROWS_WITH(VerbsInterface(std::vector{port(0)}, verbs_options("a", first, {port(0)})),
                      Catch::Contains(first));
    Ends ends;
    REQUIRE(ends.turn_until([&] { return !ends.at_a.downs.empty() && !ends.at_b.downs.empty(); }));
    CHECK_FALSE(ends.from_a->has_met());
    ends.at_a.downs.clear();
    ends.at_b.downs.clear();
    ends.connect_a();
    ends.connect_b();
    ends.heal();
    REQUIRE(ends.meet());
    CHECK(ends.talk());
}

TEST_CASE("memory that peers write to by RDMA is found by the key that they hold", "[verbs]") {
    Ends ends;
    std::vector<std::byte> memory(100);
    const RemoteMemory remote = ends.b.register_memory(memory, nullptr);
    CHECK(ends.b.registered(remote, 10, 90).data() == memory.data() + 10);
    CHECK(ends.b.registered(remote, 10, 90).size() == 90);
    CHECK(ends.b.registered(remote, 10, 91).empty());
    ends.b.deregister_memory(remote);
    CHECK(ends.b.registered(remote, 10, 90).empty());
}

}  // namespace verbs_return_test
