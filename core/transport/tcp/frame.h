// What travels in a TCP stream after the handshake: frames, each a packet header, with checksums on
// a word more, and `length` bytes behind it. PacketHeader::place says what a frame is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/transport/packet.h"

namespace torusmp::transport::tcp {

enum class Frame : std::uint8_t {
    packet,    // core's
    grant,     // tokens in `grants`, no payload
    write,     // payload for the exposed memory `context`, from byte `grants` on
    farewell,  // the peer ends in an orderly way; nothing comes after
    closed     // the peer gives the connection up; the payload says why
};

inline constexpr std::size_t longest_reason = 512;  // bytes
// Payload of a write frame: long enough that its header costs nothing, short enough that packets
// behind it need not wait.
inline constexpr std::size_t write_piece = 128u << 10;

// CRC-32C (RFC 3720, appendix B.4), by the processor's own instruction where it has one.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before = 0);

// Over the payload and what of the header stays the same from hop to hop: made by the rank that
// sends the packet first, carried in `stamp`.
std::uint32_t checksum_of(const PacketHeader& header, const std::byte* payload);
// Over the header as it is on this hop, `stamp` included.
std::uint32_t checksum_of(const PacketHeader& header);

}  // namespace torusmp::transport::tcp
