// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/probe_packet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace torusmp::check {

namespace {

constexpr std::array<char, 8> magic = {'t', 'o', 'r', 'u', 's', 'c', 'k', '1'};

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

}  // namespace torusmp::check
