// What travels in a TCP stream after the handshake: frames, each with a head of the size of a
// packet header, with checksums on a word more, and `length` bytes behind it. `length` and `frame`
// stand in every head where PacketHeader has its length and its place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/transport/api/memory.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport::tcp {

enum class Frame : std::uint8_t {
    packet,   // core's: PacketHeader, its stamp the checksum that the source made
    grant,    // ControlFrame: credits, no payload
    write,    // WriteFrame: payload for exposed memory
    goodbye,  // ControlFrame: the peer ends in an orderly way; nothing comes after
    closed    // ControlFrame: the peer gives the connection up; the payload says why
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
    std::uint64_t offset = 0;  // into the memory
    std::uint8_t unused1 = 0;
    std::uint8_t notifies = 0;  // 1: it is the last of its write, which tells by `notice`
    Frame frame = Frame::write;
    std::uint8_t unused2 = 0;
    std::uint32_t generation = 0;  // of the memory: see Exposures
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

// The head of another frame as it stands in a packet's place.
template <class Head>
PacketHeader as_header(const Head& head) {
    return std::bit_cast<PacketHeader>(head);
}

inline constexpr std::size_t longest_reason = 512;  // bytes
// Payload of a write frame: long enough that its header costs nothing, short enough that packets
// behind it need not wait.
inline constexpr std::size_t write_piece = 128u << 10;

// Over the payload, in two parts, and what of the header stays the same from hop to hop: made by
// the rank that sends the packet first, carried in `stamp`.
std::uint32_t checksum_of(const PacketHeader& header, ConstBytes front, ConstBytes payload);
// Over the head as it is on this hop, `stamp` included.
std::uint32_t checksum_of(const PacketHeader& header);

}  // namespace torusmp::transport::tcp
