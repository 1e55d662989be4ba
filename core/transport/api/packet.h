// SPDX-License-Identifier: BSD-3-Clause
// The packet on the wire: a fixed header, followed by `length` bytes of payload.
//
// Little-endian, identical in debug and release builds. Core checks everything in a header from
// outside before it uses it. A transport reads `length` and `virtual_channel` and may use `stamp`
// and `transport_byte` itself; the rest belongs to core.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torusmp::transport {

// The version of everything that crosses a network: packets, their bodies, frames and handshakes.
// Raised with every change to any of them.
inline constexpr std::uint32_t wire_version = 10;

// Credits of up to eight virtual channels, one 8-bit lane each, virtual channel 0 in the lowest.
// Words are added lane by lane with one integer addition. No valid lane has its top bit set, so
// adding what a peer claims cannot overflow into the next lane before it is checked.
using CreditWord = std::uint64_t;

inline constexpr int max_virtual_channels = 8;
inline constexpr int max_credits = 120;
// Defaults of the settings of receive slots.
inline constexpr std::size_t default_eager_limit = 16384;  // bytes
inline constexpr int default_credits = 64;
inline constexpr int default_relay_credits = 16;
inline constexpr CreditWord credit_guard_bits = 0x8080808080808080u;

constexpr CreditWord credit_of(int virtual_channel) {
    return CreditWord{1} << (8 * virtual_channel);
}
constexpr unsigned credits_in(CreditWord word, int virtual_channel) {
    return unsigned(word >> (8 * virtual_channel)) & 0xffu;
}

// Whether `grants` on top of `credits` stays within `limit` in every lane.
constexpr bool grants_fit(CreditWord credits, CreditWord grants, CreditWord limit) {
    return (grants & credit_guard_bits) == 0 &&
           (((limit | credit_guard_bits) - (credits + grants)) & credit_guard_bits) ==
               credit_guard_bits;
}

struct PacketHeader {
    std::uint32_t stamp;           // private to the transport
    std::uint32_t length;          // payload bytes after this header
    std::uint64_t grants;          // CreditWord: credits returned to the receiver of this packet
    std::uint8_t virtual_channel;  // its slot's, the number of dimensions it has finished
    std::uint8_t kind;             // core::PacketKind
    std::uint8_t transport_byte;   // private to the transport
    std::uint8_t hops;             // links crossed so far
    std::uint32_t sequence;        // position in the stream from source to destination
    std::uint32_t source;          // rank
    std::uint32_t destination;     // rank
    std::uint32_t context;         // communicator context, or label of a flow
    std::int32_t tag;
};
static_assert(sizeof(PacketHeader) == 40 && alignof(PacketHeader) == 8);

// A packet of virtual channel 0 that has not been relayed. The header is stored in whole words: a
// header that is copied right after it was made is loaded in words, which would have to wait for
// stores of single fields.
inline PacketHeader make_header(std::uint8_t kind, std::size_t length, CreditWord grants,
                                std::uint32_t sequence, std::uint32_t source,
                                std::uint32_t destination, std::uint32_t context,
                                std::int32_t tag) {
    static_assert(std::endian::native == std::endian::little);
    PacketHeader header;
    auto* const words = reinterpret_cast<std::byte*>(&header);
    const auto put = [&](int at, std::uint64_t word) {
        std::memcpy(words + at * int(sizeof word), &word, sizeof word);
    };
    const auto pair = [](std::uint32_t low, std::uint32_t high) {
        return std::uint64_t{low} | std::uint64_t{high} << 32;
    };
    put(0, pair(0, std::uint32_t(length)));
    put(1, grants);
    put(2, pair(std::uint32_t{kind} << 8, sequence));
    put(3, pair(source, destination));
    put(4, pair(context, std::uint32_t(tag)));
    return header;
}

}  // namespace torusmp::transport
