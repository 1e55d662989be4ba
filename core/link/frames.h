// SPDX-License-Identifier: BSD-3-Clause
// The packets that ranks exchange about links, and the frames that carry a dead link's traffic.
// They use two virtual channels of their own, after those of messages:
//
// - The detour virtual channel carries frames of dead links on their way around. They wait only for
//   slots of this virtual channel.
// - The control virtual channel carries news of links, hellos, setups and confirmations. A rank
//   takes them immediately, wherever they arrive.
//
// Both exist on cables only: what a dying cable loses of them is not sent again.
#pragma once

#include <cstdint>

#include "core/transport/api/channel.h"

namespace torusmp::core {

enum class LinkFrame : std::uint8_t {
    news = 0x60,  // NewsBody for links that died or came back, as many as fit
    hello,        // HelloBody: sent over a cable that is back, before it is used
    setup,        // SetupBody: hop by hop from one end of a link to the other
    confirm,      // ConfirmBody: remote writes that are complete
    detour        // DetourBody and its content
};

struct NewsBody {
    std::uint32_t rank;  // rank of routing::Link
    std::uint32_t dimension;
    std::uint32_t version;  // see LinkStates
    std::uint32_t unused;
};
struct HelloBody {
    std::uint32_t version;  // the link's version
    std::uint32_t heard;    // 1 if the receiver's hello has arrived; or `farewell`
    // The sender has closed the link for good, so the receiver does the same.
    static constexpr std::uint32_t farewell = 2;
};
// The counts of what one end has received from the other, sent once it takes nothing more over the
// old path. In the header, `source` reports to `destination` on the link that leaves `source` in
// direction `tag`.
struct SetupBody {
    std::uint64_t state;    // digest of all links known to the sender; over the cable, the version
    std::uint64_t taken;    // LaneCounts: packets taken, whose credits return with this
    std::uint32_t notices;  // completed remote writes
    std::uint32_t by_cable;
};
struct ConfirmBody {
    std::uint32_t notices;  // completed so far
    std::uint32_t unused;
};

enum class Detoured : std::uint32_t {
    nothing,
    packet,  // its header and its payload
    placed,  // its header, PlacedBody, its payload, and the bytes to place in memory
    piece    // PieceBody and its bytes
};

// A frame of a dead link. The header names the link as in a setup and carries the frame's number.
struct DetourBody {
    std::uint64_t state;    // the state on which the ends have agreed
    std::uint64_t granted;  // LaneCounts: credits returned so far
    std::uint32_t notices;  // as in ConfirmBody
    Detoured content;
};
struct PlacedBody {
    std::uint64_t address;
    std::uint32_t key;
    std::uint32_t bytes;
};
// A piece of a remote write.
struct PieceBody {
    transport::RemoteMemory memory;
    std::uint64_t offset;
    std::uint64_t notice;
    std::uint32_t last;  // 1 in the last piece of the write
    std::uint32_t notifies;
};
static_assert(sizeof(PlacedBody) == 16);

static_assert(sizeof(NewsBody) == 16 && sizeof(HelloBody) == 8 && sizeof(SetupBody) == 24);
static_assert(sizeof(ConfirmBody) == 8 && sizeof(DetourBody) == 24 &&
              sizeof(PieceBody) == sizeof(transport::RemoteMemory) + 24);

// The extra size of slots if links have detours: a whole packet fits into one frame.
inline constexpr std::size_t detour_room =
    sizeof(DetourBody) + sizeof(transport::PacketHeader) + sizeof(PlacedBody);
inline constexpr int control_credits = 8;

}  // namespace torusmp::core
