// SPDX-License-Identifier: BSD-3-Clause
// An interface under attack: the attacker is a plain socket; both are in this process, on addresses
// of this host.
#pragma once

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/socket_address.h"
#include "core/transport/tcp/handshake.h"
#include "core/transport/tcp/interface.h"
#include "recorder.h"

namespace torusmp::transport::testing {

using tcp::Handshake;

inline constexpr std::size_t slot_bytes = 4096;

inline std::vector<PortOptions> one_port(std::uint32_t number) {
    PortOptions port{number, 1, {}, slot_bytes};
    port.credits[0] = 4;
    return {port};
}

inline Secret secret_of(const char* text) {
    return derive_secret(std::as_bytes(std::span(text, std::strlen(text))));
}

inline tcp::InterfaceOptions options(const char* host, bool checksum = false) {
    tcp::InterfaceOptions options;
    options.host = host;
    options.secret = secret_of("the job's");
    options.checksum = checksum;
    options.timeout = std::chrono::seconds(60);
    return options;
}

// An interface with port 1, and the attacker's socket to its listener.
struct Besieged {
    explicit Besieged(bool checksum = false) : Besieged(options("victim", checksum)) {}
    explicit Besieged(const tcp::InterfaceOptions& options) : victim(one_port(1), options) {}

    Address address() const { return Address::decode(victim.address()); }
    base::Descriptor dial() const {
        const Address to = address();
        const base::Address& ip = to.anywhere.addresses.front();
        const sockaddr_storage there =
            base::socket_address(ip, std::uint16_t(to.anywhere.listens_on), 0);
        base::Descriptor socket(::socket(there.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(
                    socket.get(), reinterpret_cast<const sockaddr*>(&there),
                    there.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)) == 0);
        return socket;
    }
    void turn(int times = 20) {
        for (int i = 0; i < times; ++i) victim.poll(recorder);
    }
    // Turns until done() or, if a test fails, for half a minute.
    template <class Done>
    bool turn_until(Done&& done) {
        const auto end = Clock::now() + std::chrono::seconds(30);
        while (!done()) {
            if (Clock::now() > end) return false;
            turn(1);
        }
        return true;
    }
    // Plays the caller's part of the handshake to the end. Returns whether it was let in.
    bool get_in(const base::Descriptor& socket, Handshake& handshake,
                std::vector<std::byte>* said = nullptr) {
        std::array<std::byte, 256> buffer{};
        bool broken = false;
        turn_until([&] {
            const auto out = handshake.to_write();
            if (!out.empty()) {
                if (said != nullptr) said->insert(said->end(), out.begin(), out.end());
                broken = send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL) < 0;
                handshake.written(out.size());
            }
            const std::size_t wanted = std::min(handshake.wants(), buffer.size());
            if (wanted != 0 && !broken) {
                const ssize_t got = recv(socket.get(), buffer.data(), wanted, MSG_DONTWAIT);
                broken = got == 0 || (got < 0 && errno != EAGAIN) ||
                         (got > 0 && !handshake.read(std::span(buffer).first(std::size_t(got))));
            }
            return broken || handshake.finished() || handshake.refused();
        });
        return !broken && handshake.finished();
    }
    // True if the victim has closed this connection.
    bool dropped(const base::Descriptor& socket) {
        std::array<std::byte, 256> buffer{};
        return turn_until([&] {
            const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            return got == 0 || (got < 0 && errno != EAGAIN);
        });
    }
    Channel& expect_peer(const Id& id) {
        Address peer;
        peer.id = id;
        peer.host = "enemy";
        peer.anywhere = address().anywhere;  // an address that this host can dial
        return victim.connect(peer.encode(), {1, 7, true});
    }

    tcp::TcpInterface victim;
    Recorder recorder;
};

// Larger than any other, so the attacker is the end that calls.
inline Id enemy_id() {
    Id id;
    id.fill(std::byte{0xff});
    return id;
}

inline tcp::Introduction introduction(const Besieged& besieged) {
    return {enemy_id(), besieged.address().id, 7, 1};
}

}  // namespace torusmp::transport::testing
