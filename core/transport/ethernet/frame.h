// SPDX-License-Identifier: BSD-3-Clause
// What travels in Ethernet frames: behind the Ethernet header a FrameHeader, then records. A record
// is a packet's header and payload, padded to a multiple of 8 bytes.
//
// Every frame is sealed: a CRC-32C finds damage, and a tag keyed for one direction of one session
// (SipHash-2-4, Aumasson and Bernstein, INDOCRYPT 2012, by libsodium) keeps out whoever does not
// know the job's secret. SipHash is made for short messages: a MAC of a general library costs more
// than sending the frame. The tag covers all of the frame, so a frame that has been seen on the
// cable cannot be changed; one that is played again has a number that has been.
//
// Plain values; any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/transport/api/memory.h"
#include "core/transport/api/packet.h"
#include "core/transport/api/surroundings.h"

namespace torusmp::transport::ethernet {

// IEEE 802's first type for local experiments: nobody else's on a cable of ours.
inline constexpr std::uint16_t ethertype = 0x88b5;
inline constexpr std::size_t ethernet_header_bytes = 14;
inline constexpr std::uint8_t frame_version = 3;

using Mac = std::array<std::byte, 6>;

enum class Kind : std::uint8_t {
    packets,       // numbered, confirmed and sent again
    confirmation,  // what every frame says, and nothing else
    probe,         // asks for an answer with the same number
    answer
};

struct FrameHeader {
    std::uint64_t tag;        // of all that follows
    std::uint32_t session;    // the receiving end's: sockets let nothing else in
    std::uint32_t checksum;   // of all that follows
    std::uint64_t number;     // of these packets among all of the session, or of the probe
    std::uint64_t confirmed;  // everything below this number has come
    std::uint64_t received;   // and of what is beyond it: bit i stands for confirmed + 1 + i
    std::uint64_t grants;     // CreditWord, counted once for each number
    std::uint16_t length;     // bytes of records
    Kind kind;
    std::uint8_t version;
    std::uint32_t port;  // of the receiving end: forwarded frames of all ports share a socket
};
static_assert(sizeof(FrameHeader) == 56);

constexpr std::size_t record_bytes(std::size_t payload) {
    return (sizeof(PacketHeader) + payload + 7) / 8 * 8;
}

// What both ends draw or have when a session begins, and tell each other over the connection.
struct Greeting {
    std::uint32_t version = 0;
    std::uint32_t session = 0;  // by which frames for this end are known; 0: it takes none
    std::uint32_t mtu = 0;      // of its device; what is in front of a FrameHeader is not counted
    std::uint32_t port = 0;
    std::array<std::byte, 6> mac{};
    std::array<std::byte, 2> unused{};
    std::array<std::byte, 16> nonce{};
};
static_assert(sizeof(Greeting) == 40);

// Seals and checks the frames of one direction of one session.
class Seal {
  public:
    Seal() = default;
    // The direction from `sender` to `receiver`; every session has other nonces.
    Seal(const Secret& secret, const Greeting& sender, const Greeting& receiver);

    enum class Finding { sound, malformed, damaged, forged };

    // `frame`: header, which says how many bytes follow, and records.
    void close(std::byte* frame) const;
    // `bytes` is what came; what is beyond the records is padding.
    Finding check(const std::byte* frame, std::size_t bytes, std::uint32_t session) const;

  private:
    std::uint64_t tag_of(const std::byte* frame, std::size_t bytes) const;

    std::array<unsigned char, 16> key_{};
};

}  // namespace torusmp::transport::ethernet
