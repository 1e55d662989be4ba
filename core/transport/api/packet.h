// The packet as it travels: a fixed header, then `length` bytes of payload.
//
// Little-endian, the same in debug and release builds. Everything in a header that came from
// outside is checked by core before use. A transport reads `length` and `slot_class` and may use
// `stamp` and `place` for itself; the rest is core's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::transport {

// Of all that crosses a network: packets, their bodies, frames and handshakes. Raised with every
// change of them.
inline constexpr std::uint32_t wire_version = 3;

// Tokens of up to eight slot classes, one 8-bit lane each, lowest lane class 0. Words are added
// lane by lane with one integer addition. No valid lane has its top bit set, so that adding what a
// peer claims cannot run into the next lane before it is checked.
using TokenWord = std::uint64_t;

inline constexpr int max_slot_classes = 6;
inline constexpr int max_tokens = 120;
inline constexpr TokenWord token_guard_bits = 0x8080808080808080u;

constexpr TokenWord token_of(int slot_class) {
    return TokenWord{1} << (8 * slot_class);
}
constexpr unsigned tokens_in(TokenWord word, int slot_class) {
    return unsigned(word >> (8 * slot_class)) & 0xffu;
}

// Whether `grants` on top of `tokens` stays within `limit` in every lane.
constexpr bool grants_fit(TokenWord tokens, TokenWord grants, TokenWord limit) {
    return (grants & token_guard_bits) == 0 && (((limit | token_guard_bits) - (tokens + grants)) &
                                                token_guard_bits) == token_guard_bits;
}

struct PacketHeader {
    std::uint32_t stamp;        // the transport's own
    std::uint32_t length;       // payload bytes behind this header
    std::uint64_t grants;       // TokenWord: tokens given back to whoever receives this packet
    std::uint8_t slot_class;    // class of the slot this packet takes: dimensions already finished
    std::uint8_t kind;          // core::PacketKind
    std::uint8_t place;         // the transport's own
    std::uint8_t hops;          // links crossed so far
    std::uint32_t sequence;     // position in the stream from source to destination
    std::uint32_t source;       // rank
    std::uint32_t destination;  // rank
    std::uint32_t context;      // communicator context, or label of a flow
    std::int32_t tag;
};
static_assert(sizeof(PacketHeader) == 40 && alignof(PacketHeader) == 8);

}  // namespace torusmp::transport
