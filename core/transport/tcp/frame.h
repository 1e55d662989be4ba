// SPDX-License-Identifier: BSD-3-Clause
// The frames of a TCP stream after the handshake. Each has a head of the size of a packet header,
// or one word more with checksums, followed by `length` bytes. In every head `length` and `frame`
// are at the offsets of `length` and `transport_byte` in PacketHeader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/transport/api/memory.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport::tcp {

enum class Frame : std::uint8_t {
    packet,   // core's: PacketHeader, whose stamp is the checksum made by the source
    grant,    // ControlFrame: credits, no payload
    write,    // WriteFrame: payload for exposed memory
    goodbye,  // ControlFrame: orderly shutdown by the peer; nothing follows it
    closed,   // ControlFrame: the peer closes the connection; the payload gives the reason
    note      // ControlFrame: the payload goes from a Companion to a Companion
};

struct ControlFrame {
    std::uint32_t unused1 = 0;
    std::uint32_t length = 0;
    std::uint64_t credits = 0;
    std::uint8_t unused2[2] = {};
    Frame frame{};
    std::uint8_t unused3 = 0;
    std::uint32_t unused4[5] = {};
};

struct WriteFrame {
    std::uint32_t checksum = 0;  // of the payload
    std::uint32_t length = 0;
    std::uint64_t offset = 0;  // in the memory
    std::uint8_t unused1 = 0;
    std::uint8_t notifies = 0;  // 1 for the last of its write, which reports `notice`
    Frame frame = Frame::write;
    std::uint8_t unused2 = 0;
    std::uint32_t generation = 0;  // the memory's, see Exposures
    std::uint64_t notice = 0;
    std::uint32_t index = 0;  // of the memory
    std::uint32_t unused3 = 0;

    std::uint64_t memory() const { return index | std::uint64_t(generation) << 32; }
};

template <class Head>
inline constexpr bool is_head = sizeof(Head) == sizeof(PacketHeader) &&
                                offsetof(Head, length) == offsetof(PacketHeader, length) &&
                                offsetof(Head, frame) == offsetof(PacketHeader, transport_byte);
static_assert(is_head<ControlFrame> && is_head<WriteFrame>);

// The head of another frame in the form of a packet header.
template <class Head>
PacketHeader as_header(const Head& head) {
    return std::bit_cast<PacketHeader>(head);
}

// The head as it is sent, in this order.
struct FrameHead {
    PacketHeader header;
    std::uint32_t checksum;  // only with checksums
};
inline constexpr std::size_t head_bytes(bool checksum) {
    return sizeof(PacketHeader) + (checksum ? sizeof(std::uint32_t) : 0);
}

inline constexpr std::size_t longest_reason = 512;  // bytes
inline constexpr std::size_t longest_note = 4096;
// Payload of a write frame: long enough that its head costs nothing, short enough that packets
// after it need not wait.
inline constexpr std::size_t write_piece = 128u << 10;

// The checksum of the payload, in two parts, and of the header fields that are constant from hop to
// hop: computed by the rank that first sends the packet, and carried in `stamp`.
std::uint32_t checksum_of(const PacketHeader& header, ConstBytes front, ConstBytes payload);
// The checksum of the head as it is on this hop, including `stamp`.
std::uint32_t checksum_of(const PacketHeader& header);

}  // namespace torusmp::transport::tcp
