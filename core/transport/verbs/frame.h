// SPDX-License-Identifier: BSD-3-Clause
// The frames that verbs channels exchange besides core's packets, and the datagram by which two
// queue pairs find each other.
//
// Every frame takes a receive slot at the other end. Credits reserve those of core's packets. The
// frames of the transport itself (grant, notice) have `frame_credits` of their own, which return in
// the stamp of any frame, counted from the start. If nothing else is sent, a credit frame reports
// every half of them, so at most two credit frames are in flight. Hence a queue pair posts credits
// + frame_credits + 2 slots, and a few more that may wait to be reposted together: every frame
// finds a slot.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/transport/api/packet.h"
#include "core/transport/common/address.h"
#include "core/transport/common/secret.h"

namespace torusmp::transport::verbs {

enum class Frame : std::uint8_t {
    packet,   // core's
    grant,    // credits
    notice,   // a write is complete
    credit,   // only the number of frames taken
    closed,   // the other end closes the link; the payload gives the reason
    goodbye,  // the other end will send nothing more
    last = goodbye
};

// A frame of the transport itself. `length` and `frame` are at the offsets of `length` and
// `transport_byte` in PacketHeader; in both, the first word counts the peer's control frames taken.
struct ControlFrame {
    std::uint32_t taken = 0;
    std::uint32_t length = 0;
    std::uint64_t credits = 0;  // of a grant
    std::uint8_t unused1[2] = {};
    Frame frame{};
    std::uint8_t unused2 = 0;
    std::uint32_t unused3 = 0;
    std::uint64_t notice = 0;
    std::uint32_t unused4[2] = {};
};
static_assert(sizeof(ControlFrame) == sizeof(PacketHeader) &&
              offsetof(ControlFrame, taken) == offsetof(PacketHeader, stamp) &&
              offsetof(ControlFrame, length) == offsetof(PacketHeader, length) &&
              offsetof(ControlFrame, frame) == offsetof(PacketHeader, transport_byte));

// The frame in the form of a packet header.
inline PacketHeader as_header(const ControlFrame& frame) {
    return std::bit_cast<PacketHeader>(frame);
}

inline constexpr std::uint32_t frame_credits = 16;
inline constexpr std::uint32_t most_credit_frames = 2;
inline constexpr std::uint32_t posted_together = 8;
// Slots beyond core's credits. One is for the packet that is being delivered, one for the last
// frame of a link: a goodbye, or the reason for closing.
inline constexpr std::uint32_t spare_slots =
    frame_credits + most_credit_frames + posted_together + 2;

// Sent to the peer's datagram queue pair repeatedly until both ends can receive.
//
// Each end numbers the queue pairs that it makes for a port, since a link that has died is
// connected again: so both know which queue pair of the other is meant, whatever is still in
// flight.
struct Hello {
    std::array<char, 8> greeting;
    std::uint32_t version;
    std::uint32_t ready;  // 1 if the sender's queue pair knows the receiver's and receives
    std::uint32_t from_port;
    std::uint32_t to_port;
    std::uint32_t serial;  // of the sender's queue pair, from 1
    std::uint32_t heard;   // of the receiver's, from its hellos; 0 if none yet
    std::uint32_t queue_pair;
    std::uint32_t first_packet;  // sequence number, 24 bits
    std::uint32_t mtu;           // ibv_mtu
    std::uint32_t slot_bytes;    // payload
    std::uint64_t credits;       // CreditWord of the port's slots
    Id from;
    Id to;
    Proof proof;  // over all fields before it
};
static_assert(sizeof(Hello) == 120);
inline constexpr std::array<char, 8> greeting{'t', 'o', 'r', 'u', 's', 'm', 'p', 'v'};

}  // namespace torusmp::transport::verbs
