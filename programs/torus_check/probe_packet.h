// SPDX-License-Identifier: BSD-3-Clause
// What one end of a cable says to the other: a datagram that names the job, the host and the
// device. It comes from a cable, so whoever reads it checks it.
//
// Pure; any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace torusmp::check {

inline constexpr std::size_t nonce_bytes = 16;
using Nonce = std::array<std::uint8_t, nonce_bytes>;

// Numbers in network byte order. A large probe is padded with zeros up to the MTU.
struct ProbePacket {
    std::array<char, 8> magic;
    Nonce nonce;
    std::uint32_t node;
    std::uint32_t sequence;
    std::array<char, 16> device;  // padded with zeros; at least one
};
static_assert(sizeof(ProbePacket) == 48);

struct Identity {
    int node = 0;
    std::string device;
    int sequence = 0;
};

ProbePacket encode(const Nonce& nonce, const Identity& identity);

// Nothing for a datagram that is not of this job: another nonce or magic, too short, a node that
// does not exist, a device name that cannot be one.
std::optional<Identity> decode(std::span<const std::byte> datagram, const Nonce& nonce, int nodes);

// 32 hexadecimal digits.
std::string format_nonce(const Nonce& nonce);
std::optional<Nonce> parse_nonce(const std::string& text);
// Throws std::system_error where the kernel gives no random numbers.
Nonce random_nonce();

}  // namespace torusmp::check
