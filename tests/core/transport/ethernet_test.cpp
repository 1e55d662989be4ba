// SPDX-License-Identifier: BSD-3-Clause
// The Ethernet transport between two network namespaces, which TORUSMP_TEST_NAMESPACES and
// TORUSMP_TEST_DEVICES name: which packets go in frames, and which processes see the frames. Needs
// privilege; see tests/ethernet.
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "core/transport/common/secret.h"
#include "core/transport/ethernet/interface.h"
#include "core/transport/ethernet/opening.h"
#include "elsewhere.h"
#include "recorder.h"

namespace ethernet_test {

using namespace torusmp;
using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using ethernet::EthernetInterface;

std::array<std::string, 2> two_words(const char* variable) {
    std::array<std::string, 2> words;
    const char* const value = std::getenv(variable);
    REQUIRE(value != nullptr);
    std::istringstream(value) >> words[0] >> words[1];
    return words;
}

// Two interfaces, one at each end of the cable, and the channel between them.
struct Cable {
    explicit Cable(std::size_t slot_bytes = 16384) {
        const auto devices = two_words("TORUSMP_TEST_DEVICES");
        const auto namespaces = two_words("TORUSMP_TEST_NAMESPACES");
        for (std::size_t i = 0; i < 2; ++i) {
            enter_namespace(namespaces[i]);
            ethernet::InterfaceOptions options;
            options.host = i == 0 ? "a" : "b";
            options.secret = derive_secret({});
            options.devices = {{std::uint32_t(i), devices[i]}};
            PortOptions port{std::uint32_t(i), 1, {}, slot_bytes};
            port.credits[0] = 64;
            auto made =
                std::make_unique<EthernetInterface>(std::vector<PortOptions>{port}, options);
            inside[i] = made.get();
            ends[i] = std::make_unique<Elsewhere>(std::move(made), namespaces[i]);
        }
        for (std::size_t i = 0; i < 2; ++i)
            channels[i] = &ends[i]->connect(ends[1 - i]->address(),
                                            {std::uint32_t(i), std::uint32_t(1 - i), true});
    }
    template <class Done>
    bool pump(Done&& done) {
        const auto end = Clock::now() + std::chrono::seconds(30);
        while (!done() && Clock::now() < end)
            for (std::size_t i = 0; i < 2; ++i) ends[i]->poll(at[i]);
        return done();
    }
    bool meet() {
        return pump([&] { return inside[0]->in_frames(0) && inside[1]->in_frames(1); });
    }
    // Sends packets one way, as fast as credits come home; whether they came unchanged.
    bool stream(std::uint32_t count, std::size_t bytes) {
        unsigned credits = 64;
        std::uint32_t sent = 0;
        std::size_t granted = at[1].packets.size();
        const std::size_t first = granted;
        const bool all = pump([&] {
            for (; granted < at[1].packets.size(); ++granted) channels[1]->grant(credit_of(0));
            credits += credits_in(channels[0]->collect_grants(), 0);
            for (; credits > 0 && sent < count; --credits, ++sent) {
                const auto payload = pattern(bytes, sent);
                channels[0]->send(header_of(0, sent, bytes), payload);
            }
            return at[1].packets.size() - first == count;
        });
        if (!all) return false;
        for (std::uint32_t n = 0; n < count; ++n) {
            const Seen& seen = at[1].packets[first + n];
            if (!same_header(seen.header, header_of(0, n, bytes)) ||
                seen.payload != pattern(bytes, n))
                return false;
        }
        return true;
    }

    std::array<EthernetInterface*, 2> inside{};
    std::array<std::unique_ptr<Interface>, 2> ends;
    std::array<Channel*, 2> channels{};
    std::array<Recorder, 2> at;
};

// Without CAP_NET_RAW, in this thread, for a while.
struct Unprivileged {
    Unprivileged() {
        capget();
        before = sets[0];
        sets[0].effective &= ~(1u << CAP_NET_RAW);
        capset();
    }
    ~Unprivileged() {
        sets[0] = before;
        capset();
    }
    void capget() { syscall(SYS_capget, &header, sets); }
    void capset() { syscall(SYS_capset, &header, sets); }

    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2]{};
    __user_cap_data_struct before{};
};

TEST_CASE("short packets go in frames, long ones over the connection", "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    const auto before = cable.inside[0]->counters().sent;
    CHECK(cable.stream(1000, 8));
    const auto after = cable.inside[0]->counters().sent;
    CHECK(after - before > 20);
    CHECK(cable.stream(200, 16000));
    CHECK(cable.inside[0]->counters().sent - after < 20);
    for (const auto* it : cable.inside) {
        CHECK(it->counters().forged == 0);
        CHECK(it->counters().damaged == 0);
    }
}

TEST_CASE(
    "packets that nearly fill a frame go alone in a frame, and over the connection if they are "
    "many",
    "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    const auto frames_of = [&](const auto& send) {
        const auto before = cable.inside[0]->counters().sent;
        send();
        return cable.inside[0]->counters().sent - before;
    };
    CHECK(frames_of([&] { CHECK(cable.stream(1000, 1024)); }) < 500);
    CHECK(frames_of([&] {
              for (int i = 0; i < 20; ++i) {
                  int polls = 0;
                  cable.pump([&] { return ++polls == 100; });
                  CHECK(cable.stream(1, 1024));
              }
          }) == 20);
}

TEST_CASE("packets keep their order between frames and the connection", "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    const auto size_of = [](std::uint32_t n) {
        return n % 3 == 0 ? 9000u : n % 3 == 1 ? 8u : 900u;
    };
    constexpr std::uint32_t count = 60;
    for (std::uint32_t n = 0; n < count; ++n) {
        const auto payload = pattern(size_of(n), n);
        cable.channels[0]->send(header_of(0, n, payload.size()), payload);
    }
    REQUIRE(cable.pump([&] { return cable.at[1].packets.size() == count; }));
    for (std::uint32_t n = 0; n < count; ++n) {
        CHECK(cable.at[1].packets[n].header.sequence == n);
        CHECK(cable.at[1].packets[n].payload == pattern(size_of(n), n));
    }
}

TEST_CASE("without a packet socket at one end all packets go over the connection", "[ethernet]") {
    const Unprivileged here;
    const char* const path = std::getenv("PATH");
    const std::string kept = path == nullptr ? "" : path;
    setenv("PATH", "/nowhere", 1);
    const bool none = ethernet::way_to_open() == ethernet::Way::none;
    Cable cable;
    setenv("PATH", kept.c_str(), 1);
    if (!none) {
        WARN("not tested: the helper is installed here");
        return;
    }
    CHECK(cable.stream(500, 8));
    CHECK(cable.stream(100, 9000));
    CHECK_FALSE(cable.inside[0]->in_frames(0));
    CHECK(cable.inside[0]->counters().sent == 0);
    CHECK(cable.inside[0]->statistics().find("no frames") != std::string::npos);
}

TEST_CASE("an end that leaves loses no packet that it has sent", "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    for (std::uint32_t n = 0; n < 40; ++n) {
        const auto payload = pattern(30, n);
        cable.channels[0]->send(header_of(0, n, payload.size()), payload);
    }
    cable.ends[0]->say_goodbye();
    REQUIRE(cable.pump([&] { return cable.at[1].packets.size() == 40; }));
    CHECK(cable.at[1].downs.empty());
}

TEST_CASE("an end that is killed takes the link down", "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    cable.channels[0]->close("enough");
    REQUIRE(cable.pump([&] { return !cable.at[1].downs.empty(); }));
    CHECK(cable.at[1].downs[0].first == cable.channels[1]);
    CHECK(cable.at[1].downs[0].second.find("enough") != std::string::npos);
}

TEST_CASE("a link that is connected again sends frames again", "[ethernet]") {
    Cable cable;
    REQUIRE(cable.meet());
    cable.channels[0]->close("enough");
    REQUIRE(cable.pump([&] { return !cable.at[1].downs.empty(); }));
    for (std::size_t i = 0; i < 2; ++i)
        cable.channels[i] = &cable.ends[i]->connect(cable.ends[1 - i]->address(),
                                                    {std::uint32_t(i), std::uint32_t(1 - i), true});
    REQUIRE(cable.meet());
    CHECK(cable.stream(300, 8));
}

bool has_frame(int socket) {
    pollfd it{socket, POLLIN, 0};
    return poll(&it, 1, 200) == 1;
}

TEST_CASE("a socket sees only frames of its session, and its owner cannot change that",
          "[ethernet]") {
    const auto devices = two_words("TORUSMP_TEST_DEVICES");
    const auto namespaces = two_words("TORUSMP_TEST_NAMESPACES");
    enter_namespace(namespaces[1]);
    const auto one = ethernet::open_frame_socket(devices[1]);
    const auto other = ethernet::open_frame_socket(devices[1]);
    REQUIRE(one.session != other.session);
    const auto to = ethernet::device_facts(devices[1]).mac;
    enter_namespace(namespaces[0]);
    const auto sender = ethernet::open_frame_socket(devices[0]);

    std::array<std::byte, 100> frame{};
    std::copy(to.begin(), to.end(), frame.begin());
    frame[12] = std::byte(ethernet::ethertype >> 8);
    frame[13] = std::byte(ethernet::ethertype & 0xff);
    std::memcpy(&frame[ethernet::ethernet_header_bytes + 8], &one.session, 4);
    REQUIRE(send(sender.socket.get(), frame.data(), frame.size(), 0) == ssize_t(frame.size()));
    CHECK(has_frame(one.socket.get()));
    CHECK_FALSE(has_frame(other.socket.get()));

    const Unprivileged here;
    int nothing = 0;
    CHECK(setsockopt(other.socket.get(), SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing) !=
          0);
    CHECK(errno == EPERM);
    // Bound to everything, it still sees nothing else.
    enter_namespace(namespaces[1]);
    sockaddr_ll all{};
    all.sll_family = AF_PACKET;
    all.sll_protocol = 0x0300;  // ETH_P_ALL
    all.sll_ifindex = int(if_nametoindex(devices[1].c_str()));
    CHECK(bind(other.socket.get(), reinterpret_cast<const sockaddr*>(&all), sizeof all) == 0);
    REQUIRE(send(sender.socket.get(), frame.data(), frame.size(), 0) == ssize_t(frame.size()));
    CHECK_FALSE(has_frame(other.socket.get()));
    CHECK(socket(AF_PACKET, SOCK_RAW, 0) == -1);
}

// By a user without privilege, in the namespace of the devices: see tests/ethernet.
TEST_CASE("the helper passes sockets to a user who may not open any", "[.][unprivileged]") {
    const auto devices = two_words("TORUSMP_TEST_DEVICES");
    REQUIRE(socket(AF_PACKET, SOCK_RAW, 0) == -1);
    REQUIRE(ethernet::way_to_open() == ethernet::Way::helper);
    auto made = ethernet::frame_sockets({devices[0], "no-such-device", devices[1]});
    REQUIRE(made.size() == 3);
    CHECK(made[0].session != made[2].session);
    for (const std::size_t i : {0u, 2u}) {
        INFO(made[i].trouble);
        REQUIRE(made[i].socket);
        ethernet::RingSocket ring(std::move(made[i].socket), 64);
        std::array<std::byte, 100> frame{};
        CHECK(ring.send(frame.data(), frame.size()));
    }
    CHECK_FALSE(made[1].socket);
    CHECK(made[1].trouble.find("no-such-device") != std::string::npos);
}

}  // namespace ethernet_test
