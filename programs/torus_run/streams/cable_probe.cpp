// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/cable_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/in6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace torusmp::torus_run {

namespace {

constexpr std::array<char, 8> magic = {'t', 'o', 'r', 'u', 's', 'c', 'k', '1'};

constexpr int receive_buffer = 1 << 20;

template <class Value>
void set_option(int socket, int level, int option, const Value& value) {
    // If an option is refused, the probes are still sent; the report shows what is missing.
    (void)::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

ProbePacket encode(const Nonce& nonce, const Identity& identity) {
    ProbePacket packet{magic,
                       nonce,
                       htonl(std::uint32_t(identity.node)),
                       htonl(std::uint32_t(identity.sequence)),
                       {}};
    identity.device.copy(packet.device.data(), packet.device.size() - 1);
    return packet;
}

std::optional<Identity> decode(std::span<const std::byte> datagram, const Nonce& nonce, int nodes) {
    ProbePacket packet;
    if (datagram.size() < sizeof packet) return std::nullopt;
    std::memcpy(&packet, datagram.data(), sizeof packet);
    const std::uint32_t node = ntohl(packet.node), sequence = ntohl(packet.sequence);
    if (packet.magic != magic || packet.nonce != nonce || node >= std::uint32_t(nodes) ||
        sequence > 0x7fffffff || packet.device.back() != 0)
        return std::nullopt;
    Identity identity{int(node), packet.device.data(), int(sequence)};
    const bool plain = std::all_of(identity.device.begin(), identity.device.end(),
                                   [](char c) { return c > ' ' && c < 0x7f; });
    if (identity.device.empty() || !plain) return std::nullopt;
    return identity;
}

std::string format_nonce(const Nonce& nonce) {
    return fmt::format("{:02x}", fmt::join(nonce, ""));
}

std::optional<Nonce> parse_nonce(const std::string& text) {
    if (text.size() != 2 * nonce_bytes ||
        text.find_first_not_of("0123456789abcdef") != std::string::npos)
        return std::nullopt;
    Nonce nonce;
    for (std::size_t i = 0; i < nonce_bytes; ++i)
        nonce[i] = std::uint8_t(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return nonce;
}

Nonce random_nonce() {
    Nonce nonce;
    if (::getrandom(nonce.data(), nonce.size(), 0) != ssize_t(nonce.size()))
        throw std::system_error(errno, std::generic_category(), "getrandom");
    return nonce;
}

int probe_port(const Nonce& nonce) {
    return 20000 + (nonce[0] << 8 | nonce[1]) % 12000;
}

base::Descriptor device_socket(int family, int type, const std::string& device) {
    base::Descriptor socket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                               socklen_t(device.size())) != 0)
        throw std::system_error(errno, std::generic_category(),
                                fmt::format("cannot bind a socket to {}", device));
    return socket;
}

base::Descriptor probe_socket(int family, const std::string& device, int index, int port) {
    base::Descriptor socket = device_socket(family, SOCK_DGRAM, device);
    if (!socket) return socket;
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer);
    set_option(socket.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    sockaddr_in6 any_v6{};
    sockaddr_in any_v4{};
    if (family == AF_INET6) {
        set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, index);
        set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
        set_option(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
        any_v6.sin6_family = AF_INET6;
        any_v6.sin6_port = htons(std::uint16_t(port));
    } else {
        set_option(socket.get(), SOL_SOCKET, SO_BROADCAST, 1);
        set_option(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
        any_v4.sin_family = AF_INET;
        any_v4.sin_port = htons(std::uint16_t(port));
    }
    const bool bound =
        family == AF_INET6
            ? ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any_v6), sizeof any_v6) == 0
            : ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any_v4), sizeof any_v4) == 0;
    if (!bound) return {};
    return socket;
}

ssize_t send_probe(int socket, int family, int index, int port, std::span<const std::byte> bytes) {
    if (family == AF_INET6) {
        sockaddr_in6 all{};
        all.sin6_family = AF_INET6;
        all.sin6_port = htons(std::uint16_t(port));
        all.sin6_scope_id = std::uint32_t(index);
        ::inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
        return ::sendto(socket, bytes.data(), bytes.size(), 0,
                        reinterpret_cast<const sockaddr*>(&all), sizeof all);
    }
    sockaddr_in all{};
    all.sin_family = AF_INET;
    all.sin_port = htons(std::uint16_t(port));
    all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    return ::sendto(socket, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&all),
                    sizeof all);
}

}  // namespace torusmp::torus_run
