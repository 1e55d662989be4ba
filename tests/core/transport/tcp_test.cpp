// SPDX-License-Identifier: BSD-3-Clause
// The features specific to TCP: which callers are accepted, the effect of damaged or hostile bytes,
// and the addresses that are used. The attacker is a plain socket; both ends and the attacker are
// in this process, on this host's addresses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "besieged.h"
#include "core/transport/common/crc32c.h"
#include "core/transport/tcp/frame.h"
#include "core/transport/tcp/handshake.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/sockets.h"

using namespace torusmp;
using namespace torusmp::transport;
using namespace torusmp::transport::testing;

namespace {

// The attacker as a member of the job: from here on it sends only frames.
struct Traitor {
    explicit Traitor(bool checksum = false) : besieged(checksum) {
        channel = &besieged.expect_peer(enemy_id());
        socket = besieged.dial();
        Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
        REQUIRE(besieged.get_in(socket, handshake));
    }
    void send_bytes(const void* bytes, std::size_t count) {
        REQUIRE(send(socket.get(), bytes, count, MSG_NOSIGNAL) == ssize_t(count));
    }
    // Sends a frame and returns the reason that the victim gave for the connection's end.
    std::string end_of(const PacketHeader& header, std::size_t payload_bytes = 0) {
        std::vector<std::byte> frame(sizeof header + payload_bytes, std::byte{1});
        std::memcpy(frame.data(), &header, sizeof header);
        send_bytes(frame.data(), frame.size());
        besieged.turn_until([&] { return !besieged.recorder.downs.empty(); });
        return besieged.recorder.downs.empty() ? "" : besieged.recorder.downs.front().second;
    }

    Besieged besieged;
    Channel* channel = nullptr;
    base::Descriptor socket;
};

// The socket of this process whose peer is that one; -1: none has been accepted.
int other_end_of(const base::Descriptor& enemy) {
    const std::uint16_t port = tcp::port_of(enemy.get());
    for (int socket = 0; socket < 1024; ++socket) {
        sockaddr_in6 peer{};  // IPv4 has the port in the same place
        socklen_t length = sizeof peer;
        if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
            (peer.sin6_family == AF_INET || peer.sin6_family == AF_INET6) &&
            ntohs(peer.sin6_port) == port)
            return socket;
    }
    return -1;
}

PacketHeader frame(tcp::Frame kind, std::uint32_t length) {
    PacketHeader header{};
    header.transport_byte = std::uint8_t(kind);
    header.length = length;
    return header;
}

}  // namespace

TEST_CASE("a caller that knows the secret is accepted and named", "[tcp]") {
    Besieged besieged;
    besieged.expect_peer(enemy_id());
    const auto socket = besieged.dial();
    Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
    CHECK(besieged.get_in(socket, handshake));
}

TEST_CASE("pending connections without a proof are dropped and do not affect the job", "[tcp]") {
    Besieged besieged;
    besieged.expect_peer(enemy_id());
    const auto socket = besieged.dial();
    SECTION("another secret") {
        Handshake handshake = Handshake::call(secret_of("another's"), introduction(besieged));
        CHECK_FALSE(besieged.get_in(socket, handshake));
    }
    SECTION("a call for another rank") {
        tcp::Introduction wrong = introduction(besieged);
        wrong.listener[0] ^= std::byte{1};
        Handshake handshake = Handshake::call(secret_of("the job's"), wrong);
        CHECK_FALSE(besieged.get_in(socket, handshake));
    }
    SECTION("a port that does not exist") {
        tcp::Introduction wrong = introduction(besieged);
        wrong.to_port = 99;
        Handshake handshake = Handshake::call(secret_of("the job's"), wrong);
        CHECK_FALSE(besieged.get_in(socket, handshake));
    }
    SECTION("the right port, but the wrong peer") {
        tcp::Introduction wrong = introduction(besieged);
        wrong.caller[3] ^= std::byte{1};
        Handshake handshake = Handshake::call(secret_of("the job's"), wrong);
        CHECK_FALSE(besieged.get_in(socket, handshake));
    }
    SECTION("a browser") {
        const std::string text =
            "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n" + std::string(200, ' ');
        REQUIRE(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0);
        CHECK(besieged.dropped(socket));
    }
    SECTION("noise") {
        std::vector<std::byte> noise(500);
        for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = std::byte(i * 37 % 251);
        REQUIRE(send(socket.get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0);
        CHECK(besieged.dropped(socket));
    }
    SECTION("silent callers, again and again") {
        std::vector<base::Descriptor> silent;
        for (std::size_t n = 0; n < 3 * tcp::TcpInterface::most_pending; ++n) {
            silent.push_back(besieged.dial());
            besieged.turn(2);
        }
    }
    SECTION("many silent callers, while a caller with the right address is slow") {
        const auto patient = besieged.dial();
        Handshake slow = Handshake::call(secret_of("the job's"), introduction(besieged));
        const auto hello = slow.to_write();
        REQUIRE(send(patient.get(), hello.data(), hello.size(), MSG_NOSIGNAL) > 0);
        slow.written(hello.size());
        besieged.turn();
        std::vector<base::Descriptor> silent;
        for (std::size_t n = 0; n < 3 * tcp::TcpInterface::most_pending; ++n) {
            silent.push_back(besieged.dial());
            besieged.turn(2);
        }
        CHECK(besieged.get_in(patient, slow));
        return;
    }
    // Whatever that was, the peer that belongs here still gets in.
    const auto friendly = besieged.dial();
    Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
    CHECK(besieged.get_in(friendly, handshake));
    CHECK(besieged.recorder.downs.empty());
}

TEST_CASE("a recorded handshake does not open a second connection", "[tcp]") {
    Besieged besieged;
    std::vector<std::byte> said;
    {
        // Recorded where the port was not connected: the caller waits for its verdict.
        const auto socket = besieged.dial();
        Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
        besieged.recorder.connect = [&](std::uint32_t) { besieged.expect_peer(enemy_id()); };
        REQUIRE(besieged.get_in(socket, handshake, &said));
    }
    Besieged other;
    other.expect_peer(enemy_id());
    const auto replay = other.dial();
    REQUIRE(send(replay.get(), said.data(), said.size(), MSG_NOSIGNAL) == ssize_t(said.size()));
    CHECK(other.dropped(replay));
    // And to the same listener again, with its own id in it.
    const auto again = besieged.dial();
    REQUIRE(send(again.get(), said.data(), said.size(), MSG_NOSIGNAL) == ssize_t(said.size()));
    CHECK(besieged.dropped(again));
}

TEST_CASE("impossible frames end the connection with the reason", "[tcp]") {
    Traitor traitor;
    SECTION("an unknown kind") {
        CHECK_THAT(traitor.end_of(frame(tcp::Frame(77), 0)), Catch::Contains("kind 77"));
    }
    SECTION("a packet longer than a slot") {
        CHECK_THAT(traitor.end_of(frame(tcp::Frame::packet, slot_bytes + 1)),
                   Catch::Contains("4097 B"));
    }
    SECTION("a packet of a virtual channel that the port does not have") {
        PacketHeader header = frame(tcp::Frame::packet, 0);
        header.virtual_channel = 1;
        CHECK_THAT(traitor.end_of(header), Catch::Contains("virtual channel 1"));
    }
    SECTION("an endless write") {
        CHECK_THAT(traitor.end_of(frame(tcp::Frame::write, 1u << 31)),
                   Catch::Contains("2147483648 B"));
    }
    SECTION("a grant with a payload") {
        CHECK_THAT(traitor.end_of(frame(tcp::Frame::grant, 8), 8),
                   Catch::Contains("an invalid frame"));
    }
    SECTION("more credits than a lane holds") {
        PacketHeader header = frame(tcp::Frame::grant, 0);
        header.grants = 0x80;
        CHECK_THAT(traitor.end_of(header), Catch::Contains("credits"));
    }
    SECTION("more packets than slots, while they are held") {
        traitor.besieged.recorder.decide = [](const PacketHeader&) { return Verdict::held; };
        for (int n = 0; n < 4; ++n) {
            const PacketHeader header = frame(tcp::Frame::packet, 0);
            traitor.send_bytes(&header, sizeof header);
        }
        CHECK_THAT(traitor.end_of(frame(tcp::Frame::packet, 0)), Catch::Contains("slots"));
    }
    SECTION("the end without a goodbye") {
        traitor.socket.reset();
        traitor.besieged.turn_until([&] { return !traitor.besieged.recorder.downs.empty(); });
        REQUIRE(traitor.besieged.recorder.downs.size() == 1);
        CHECK_THAT(traitor.besieged.recorder.downs[0].second, Catch::Contains("goodbye"));
    }
    SECTION("the reason of the other end is reported") {
        const std::string reason = "its credits do not add up";
        std::vector<char> bytes(sizeof(PacketHeader) + reason.size());
        const PacketHeader header = frame(tcp::Frame::closed, std::uint32_t(reason.size()));
        std::memcpy(bytes.data(), &header, sizeof header);
        std::memcpy(bytes.data() + sizeof header, reason.data(), reason.size());
        traitor.send_bytes(bytes.data(), bytes.size());
        traitor.besieged.turn_until([&] { return !traitor.besieged.recorder.downs.empty(); });
        REQUIRE(traitor.besieged.recorder.downs.size() == 1);
        CHECK_THAT(traitor.besieged.recorder.downs[0].second, Catch::Contains(reason));
    }
    REQUIRE(traitor.besieged.recorder.downs.size() == 1);
    CHECK(traitor.besieged.recorder.downs[0].first == traitor.channel);
    // It contains the names of both ends.
    CHECK_THAT(traitor.besieged.recorder.downs[0].second, Catch::Contains("enemy"));
}

TEST_CASE("a packet that may wait is sent with the next one, and not before", "[tcp]") {
    Traitor traitor;
    REQUIRE(traitor.besieged.turn_until([&] { return !traitor.channel->connecting(); }));
    PacketHeader header{};
    header.length = slot_bytes;
    const std::vector<std::byte> payload(slot_bytes, std::byte{3});
    traitor.channel->cork();
    traitor.channel->send(header, payload);
    std::vector<std::byte> got(2 * (sizeof header + slot_bytes));
    CHECK(recv(traitor.socket.get(), got.data(), got.size(), MSG_DONTWAIT) < 0);

    // No poll after this.
    traitor.channel->send(header, payload);
    std::size_t have = 0;
    while (have < got.size()) {
        pollfd readable{traitor.socket.get(), POLLIN, 0};
        REQUIRE(::poll(&readable, 1, 60'000) == 1);
        const ssize_t more = recv(traitor.socket.get(), got.data() + have, got.size() - have, 0);
        REQUIRE(more > 0);
        have += std::size_t(more);
    }
    CHECK(std::equal(payload.begin(), payload.end(), got.end() - std::ptrdiff_t(slot_bytes)));
}

TEST_CASE("a write to deregistered memory is dropped", "[tcp]") {
    Traitor traitor;
    std::vector<std::byte> memory(3000, std::byte{9});
    const RemoteMemory remote = traitor.besieged.victim.register_memory(memory, nullptr);
    PacketHeader header = frame(tcp::Frame::write, 1000);
    header.context = std::uint32_t(remote.opaque[0]);
    header.sequence = std::uint32_t(remote.opaque[0] >> 32);
    bool written = false;
    SECTION("beyond its end") {
        header.grants = 2001;
    }
    SECTION("far beyond") {
        header.grants = ~std::uint64_t{0} - 10;
    }
    SECTION("after it was deregistered") {
        traitor.besieged.victim.deregister_memory(remote);
    }
    SECTION("under a later id of the same place") {
        ++header.sequence;
    }
    SECTION("a write inside the memory arrives") {
        header.grants = 2000;
        written = true;
    }
    std::vector<std::byte> bytes(sizeof header + 1000, std::byte{5});
    std::memcpy(bytes.data(), &header, sizeof header);
    traitor.send_bytes(bytes.data(), bytes.size());
    // The connection goes on after it.
    const PacketHeader next = frame(tcp::Frame::packet, 0);
    traitor.send_bytes(&next, sizeof next);
    traitor.besieged.turn_until([&] { return !traitor.besieged.recorder.packets.empty(); });
    REQUIRE(traitor.besieged.recorder.packets.size() == 1);
    CHECK(traitor.besieged.recorder.downs.empty());
    std::vector<std::byte> expected(3000, std::byte{9});
    if (written) std::fill(expected.begin() + 2000, expected.end(), std::byte{5});
    CHECK(memory == expected);
}

TEST_CASE("waiting writes are sent whole and in order, and packets overtake them", "[tcp]") {
    Traitor traitor;
    REQUIRE(traitor.besieged.turn_until([&] { return !traitor.channel->connecting(); }));
    // Far more than a socket takes, then writes of many stretches, one frame long and more.
    struct Sent {
        std::vector<std::byte> memory;
        std::size_t stretch;  // bytes
        std::size_t offset;
        std::vector<std::byte> landed = {};
    };
    std::vector<Sent> writes;
    const auto add = [&](std::size_t stretch, std::size_t count, std::size_t offset) {
        writes.push_back({pattern(stretch * count, writes.size() + 1), stretch, offset});
    };
    add(11'000'001, 3, 1001);
    for (const std::size_t stretch : {3001u, 5u, 2048u, 4001u})
        add(stretch, tcp::most_gathered, stretch);
    add(1, 1, 0);
    for (std::size_t i = 0; i < writes.size(); ++i) {
        Sent& it = writes[i];
        RemoteMemory remote{0, it.offset + it.memory.size(), 0, {}};
        remote.set(std::uint64_t(i) | std::uint64_t{7} << 32);
        std::vector<ConstBytes> stretches;
        for (std::size_t at = 0; at < it.memory.size(); at += it.stretch)
            stretches.push_back(ConstBytes(it.memory).subspan(at, it.stretch));
        REQUIRE(traitor.channel->write(remote, it.offset, stretches, 100 + i, 200 + i) ==
                Transfer::pending);
    }
    const auto payload = pattern(slot_bytes, 99);
    traitor.channel->send(header_of(0, 5, payload.size()), payload);

    std::vector<std::byte> stream;
    std::size_t at = 0;
    std::vector<std::byte> room(1 << 20);
    // The next bytes of the stream, once there are so many.
    const auto next = [&](std::size_t bytes) {
        REQUIRE(traitor.besieged.turn_until([&] {
            const ssize_t got = recv(traitor.socket.get(), room.data(), room.size(), MSG_DONTWAIT);
            if (got > 0) stream.insert(stream.end(), room.begin(), room.begin() + got);
            return stream.size() - at >= bytes;
        }));
        at += bytes;
        return ConstBytes(stream).subspan(at - bytes, bytes);
    };
    std::size_t current = 0;
    bool packet = false;
    while (current < writes.size()) {
        PacketHeader header;
        std::memcpy(&header, next(sizeof header).data(), sizeof header);
        const ConstBytes body = next(header.length);
        if (tcp::Frame(header.transport_byte) == tcp::Frame::packet) {
            CHECK(current == 0);  // the first write is not over
            CHECK(std::equal(body.begin(), body.end(), payload.begin(), payload.end()));
            packet = true;
            continue;
        }
        const auto frame = std::bit_cast<tcp::WriteFrame>(header);
        Sent& it = writes[current];
        REQUIRE(frame.frame == tcp::Frame::write);
        REQUIRE(frame.length <= tcp::write_piece);
        REQUIRE(frame.memory() == (std::uint64_t(current) | std::uint64_t{7} << 32));
        REQUIRE(frame.offset == it.offset + it.landed.size());
        it.landed.insert(it.landed.end(), body.begin(), body.end());
        const bool last = it.landed.size() >= it.memory.size();
        REQUIRE(bool(frame.notifies) == last);
        if (!last) continue;
        CHECK(frame.notice == 200 + current);
        CHECK((it.landed == it.memory));
        ++current;
    }
    CHECK(packet);
    std::vector<std::pair<std::uint64_t, bool>> all;
    for (std::size_t i = 0; i < writes.size(); ++i) all.emplace_back(100 + i, true);
    CHECK(traitor.besieged.turn_until(
        [&] { return traitor.besieged.recorder.transfers.size() == all.size(); }));
    CHECK(traitor.besieged.recorder.transfers == all);
}

TEST_CASE("a connection is not paced, whatever the default of this host is", "[tcp]") {
    Traitor traitor;
    REQUIRE(traitor.besieged.turn_until([&] { return !traitor.channel->connecting(); }));
    const int socket = other_end_of(traitor.socket);
    REQUIRE(socket >= 0);
    std::array<char, 16> algorithm{};
    socklen_t size = algorithm.size();
    REQUIRE(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(), &size) == 0);
    CHECK(std::string(algorithm.data()) == "reno");
}

TEST_CASE("the kernel probes an end that is silent during the handshake, too", "[tcp]") {
    Besieged besieged;
    const auto socket = besieged.dial();
    int ours = -1;
    REQUIRE(besieged.turn_until([&] { return (ours = other_end_of(socket)) >= 0; }));
    int asks = 0;
    socklen_t size = sizeof asks;
    REQUIRE(getsockopt(ours, SOL_SOCKET, SO_KEEPALIVE, &asks, &size) == 0);
    CHECK(asks == 1);
}

TEST_CASE("checksums detect changes on the link", "[tcp]") {
    Traitor traitor(true);
    PacketHeader header = frame(tcp::Frame::packet, 100);
    header.tag = 5;
    std::vector<std::byte> payload(100, std::byte{3});
    header.stamp = tcp::checksum_of(header, payload, {});
    std::uint32_t check = tcp::checksum_of(header);
    bool intact = false;
    std::string found;
    SECTION("in the payload") {
        payload[50] ^= std::byte{4};
        found = "payload";
    }
    SECTION("in the header") {
        header.tag = 4;
        found = "header";
    }
    SECTION("in the header, corrected by a relay") {
        header.tag = 4;
        check = tcp::checksum_of(header);
        found = "payload";
    }
    SECTION("nothing") {
        intact = true;
    }
    std::vector<std::byte> bytes(sizeof header + sizeof check + payload.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &check, sizeof check);
    std::memcpy(bytes.data() + sizeof header + sizeof check, payload.data(), payload.size());
    traitor.send_bytes(bytes.data(), bytes.size());
    const Recorder& recorder = traitor.besieged.recorder;
    traitor.besieged.turn_until(
        [&] { return !recorder.packets.empty() || !recorder.downs.empty(); });
    if (intact) {
        REQUIRE(recorder.packets.size() == 1);
        CHECK(recorder.packets[0].payload == payload);
    } else {
        REQUIRE(recorder.downs.size() == 1);
        CHECK(recorder.packets.empty());
        CHECK_THAT(recorder.downs[0].second, Catch::Contains("wrong checksum"));
        CHECK_THAT(recorder.downs[0].second, Catch::Contains(found));
    }
}

TEST_CASE("the checksum is CRC-32C of RFC 3720", "[tcp]") {
    const std::array<unsigned char, 32> zeros{};
    CHECK(crc32c(zeros.data(), zeros.size()) == 0x8a9136aau);
    std::array<unsigned char, 32> ones{};
    ones.fill(0xff);
    CHECK(crc32c(ones.data(), ones.size()) == 0x62a8ab43u);
    std::array<unsigned char, 32> up{};
    for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<unsigned char>(i);
    CHECK(crc32c(up.data(), up.size()) == 0x46dd794eu);
    CHECK(crc32c(up.data() + 10, 22, crc32c(up.data(), 10)) == 0x46dd794eu);
}

TEST_CASE("all implementations of the checksum agree", "[tcp]") {
    const auto data = pattern(5000, 3);
    for (const std::size_t from : {0u, 1u, 7u, 8u, 4093u})
        for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 900u}) {
            const std::uint32_t before = bytes % 2 == 0 ? 0 : 0xdeadbeefu;
            const std::uint32_t sum = crc32c(data.data() + from, bytes, before);
            CHECK(crc32c_ways::by_tables(data.data() + from, bytes, before) == sum);
            if (crc32c_ways::has_instruction())
                CHECK(crc32c_ways::by_instruction(data.data() + from, bytes, before) == sum);
        }
    const std::array<unsigned char, 32> zeros{};
    CHECK(crc32c_ways::by_tables(zeros.data(), zeros.size(), 0) == 0x8a9136aau);
}

TEST_CASE("an interface's address is unchanged after encoding, and other bytes are refused",
          "[tcp]") {
    Address address;
    address.id.fill(std::byte{3});
    address.host = "qcd000";
    address.endpoints.push_back({2, 4711, "enp1s0f0", {}});
    DeviceAddress v4;
    v4.prefix = 30;
    v4.bytes = {10, 0, 0, 1};
    DeviceAddress v6;
    v6.v6 = true;
    v6.prefix = 64;
    v6.bytes = {0xfe, 0x80};
    v6.bytes[15] = 9;
    address.endpoints[0].addresses = {v4, v6};
    const auto bytes = address.encode();
    const Address back = Address::decode(bytes);
    CHECK(back.encode() == bytes);
    CHECK(back.endpoint(2).device == "enp1s0f0");
    CHECK(back.endpoint(2).addresses[1].text() == "fe80::9");
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
        CHECK_THROWS_AS(Address::decode(std::span(bytes).first(cut)), std::runtime_error);
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_THROWS_AS(Address::decode(longer), std::runtime_error);
}

TEST_CASE("a cable's ends use one network, or their link-local addresses", "[tcp]") {
    const auto v4 = [](int last, int prefix, int third = 0) {
        DeviceAddress address;
        address.prefix = prefix;
        address.bytes = {10, 0, std::uint8_t(third), std::uint8_t(last)};
        return address;
    };
    DeviceAddress local;
    local.v6 = true;
    local.prefix = 64;
    local.bytes = {0xfe, 0x80};
    DeviceAddress other = local;
    local.bytes[15] = 1;
    other.bytes[15] = 2;
    const Endpoint a{0, 1, "d0", {v4(1, 30), local}};
    const auto pair = choose_pair(a, {0, 1, "d1", {v4(2, 30), other}});
    REQUIRE(pair);
    CHECK(pair->peer.text() == "10.0.0.2");
    const auto fallback = choose_pair(a, {0, 1, "d1", {v4(6, 30), other}});
    REQUIRE(fallback);
    CHECK(fallback->peer.text() == "fe80::2");
    CHECK_FALSE(choose_pair(a, {0, 1, "d1", {v4(6, 30)}}));
    // IPv4 has link-local addresses too: good on a cable, and nowhere else.
    DeviceAddress zeroconf = v4(0, 16);
    zeroconf.bytes = {169, 254, 3, 1};
    DeviceAddress its_other = zeroconf;
    its_other.bytes[3] = 2;
    CHECK(choose_pair({0, 1, "d0", {zeroconf}}, {0, 1, "d1", {its_other}}));
    CHECK_FALSE(choose_pair({0, 1, "", {zeroconf}}, {0, 1, "", {its_other}}));
    // Where no cable joins them, an address of the loopback device is what routes lead to.
    DeviceAddress node = v4(9, 32, 255);
    node.on_loopback = true;
    DeviceAddress far = v4(8, 32, 255);
    far.on_loopback = true;
    const auto routed = choose_pair({0, 1, "", {node, v4(1, 24)}}, {0, 1, "", {v4(2, 24), far}});
    REQUIRE(routed);
    CHECK(routed->peer.text() == "10.0.255.8");
}

TEST_CASE("a device that does not exist is named before anything starts", "[tcp]") {
    tcp::InterfaceOptions wrong = options("qcd000");
    wrong.devices = {{1, "nosuch0"}};
    CHECK_THROWS_WITH(tcp::TcpInterface(one_port(1), wrong), Catch::Contains("qcd000") &&
                                                                 Catch::Contains("nosuch0") &&
                                                                 Catch::Contains("does not exist"));
}

TEST_CASE("an end that says goodbye is not a dead link", "[tcp]") {
    Recorder at_a;
    tcp::TcpInterface a(one_port(1), options("a"));
    Recorder at_b;
    auto b = std::make_unique<tcp::TcpInterface>(one_port(1), options("b"));
    Channel& from_a = a.connect(b->address(), {1, 1, true});
    Channel& from_b = b->connect(a.address(), {1, 1, true});
    from_b.send(header_of(0, 1, 0), {});
    for (int i = 0; i < 100'000 && at_a.packets.empty(); ++i) {
        a.poll(at_a);
        b->poll(at_b);
    }
    REQUIRE(at_a.packets.size() == 1);
    b.reset();
    for (int i = 0; i < 1000; ++i) a.poll(at_a);
    CHECK(at_a.downs.empty());
    from_a.send(header_of(0, 2, 0), {});  // swallowed
    a.poll(at_a);
    CHECK(at_a.downs.empty());
}
