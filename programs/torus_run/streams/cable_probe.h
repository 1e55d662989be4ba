// SPDX-License-Identifier: BSD-3-Clause
// The probe that one end of a cable sends to the other: a datagram that names the job, the host and
// the device, and the sockets that send and receive it. The content is untrusted, so the decoder
// checks it.
//
// Any thread may call.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace torusmp::torus_run {

inline constexpr std::size_t nonce_bytes = 16;
using Nonce = std::array<std::uint8_t, nonce_bytes>;

// The datagram. Numbers are in network byte order. A large probe is padded with zeros up to the
// MTU.
struct ProbePacket {
    std::array<char, 8> magic;
    Nonce nonce;
    std::uint32_t node;
    std::uint32_t sequence;
    std::array<char, 16> device;  // padded with at least one zero
};
static_assert(sizeof(ProbePacket) == 48);

struct Identity {
    int node = 0;
    std::string device;
    int sequence = 0;
};

ProbePacket encode(const Nonce& nonce, const Identity& identity);

// Returns nothing for a datagram of another job or one that is malformed: a wrong nonce or magic,
// too short, a node out of range, an invalid device name.
std::optional<Identity> decode(std::span<const std::byte> datagram, const Nonce& nonce, int nodes);

// 32 hexadecimal digits.
std::string format_nonce(const Nonce& nonce);
std::optional<Nonce> parse_nonce(const std::string& text);
// Throws std::system_error if the kernel provides no random numbers.
Nonce random_nonce();

// The UDP port that all ends of a job use.
int probe_port(const Nonce& nonce);
// A socket bound to a device; empty if the kernel does not support the family. Throws
// std::system_error if it cannot be bound.
base::Descriptor device_socket(int family, int type, const std::string& device);
// A socket that receives the multicasts and broadcasts of the far end; empty if unsupported.
// `family` is AF_INET6 or AF_INET. Throws as device_socket() does.
base::Descriptor probe_socket(int family, const std::string& device, int index, int port);
// Sends to all stations on the cable. Returns -1 on error, with errno set.
ssize_t send_probe(int socket, int family, int index, int port, std::span<const std::byte> bytes);

}  // namespace torusmp::torus_run
