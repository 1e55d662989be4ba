// SPDX-License-Identifier: BSD-3-Clause
// The format of Ethernet frames: the Ethernet header, a FrameHeader, then records. A record is a
// packet's header and payload, padded to a multiple of 8 bytes.
//
// Every frame is sealed: a CRC-32C detects damage, and a tag keyed for one direction of one session
// (SipHash-2-4, Aumasson and Bernstein, INDOCRYPT 2012, by libsodium) keeps out senders that do not
// know the job's secret. SipHash is made for short messages: a general library's MAC costs more
// than sending the frame. The tag covers the whole frame, so a frame that was seen on the cable
// cannot be changed; a replayed frame has a number that was already taken.
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

// IEEE 802's first type for local experiments; unused by others on our cables.
inline constexpr std::uint16_t ethertype = 0x88b5;
inline constexpr std::size_t ethernet_header_bytes = 14;
inline constexpr std::uint8_t frame_version = 4;

using Mac = std::array<std::byte, 6>;

enum class Kind : std::uint8_t {
    packets,       // numbered, confirmed and sent again
    confirmation,  // the confirmation that every frame carries, and nothing else
    probe,         // asks for an answer with the same number
    answer,
    again  // packets that are sent again, so the receiver counts what the cable lost
};

struct FrameHeader {
    std::uint64_t tag;       // covers everything after it
    std::uint32_t session;   // the receiving end's; its sockets admit nothing else
    std::uint32_t checksum;  // of everything after it
    // The position of these packets in the session, or the number of the probe.
    std::uint64_t number;
    std::uint64_t confirmed;  // everything below this number has arrived
    std::uint64_t received;   // a mask of later arrivals; bit i stands for confirmed + 1 + i
    std::uint64_t grants;     // CreditWord, counted once for each number
    std::uint16_t length;     // bytes of records
    Kind kind;
    std::uint8_t version;
    std::uint32_t port;  // the receiving end's, since forwarded frames of all ports share a socket
};
static_assert(sizeof(FrameHeader) == 56);

constexpr std::size_t record_bytes(std::size_t payload) {
    return (sizeof(PacketHeader) + payload + 7) / 8 * 8;
}

// The values that both ends draw or have when a session begins, and exchange over the connection.
struct Greeting {
    std::uint32_t version = 0;
    std::uint32_t session = 0;  // identifies frames for this end; 0 if it accepts none
    std::uint32_t mtu = 0;      // of its device, without the headers in front of a FrameHeader
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
    // For the direction from `sender` to `receiver`; every session has different nonces.
    Seal(const Secret& secret, const Greeting& sender, const Greeting& receiver);

    enum class Finding { sound, malformed, damaged, forged };

    // `frame` consists of the header, which has the number of bytes after it, and the records.
    void close(std::byte* frame) const;
    // `bytes` is the received size; bytes beyond the records are padding.
    Finding check(const std::byte* frame, std::size_t bytes, std::uint32_t session) const;

  private:
    std::uint64_t tag_of(const std::byte* frame, std::size_t bytes) const;

    std::array<unsigned char, 16> key_{};
};

}  // namespace torusmp::transport::ethernet
