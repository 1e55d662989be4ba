// SPDX-License-Identifier: BSD-3-Clause
// What ranks say to each other about links, and how frames of a dead link travel. These packets
// have two virtual channels of their own, behind those of messages:
//
// detour virtual channel   frames of dead links on their way around; they wait for slots of this
// virtual channel alone control virtual channel  news of links, hellos, setups, confirmations;
// taken off at once wherever they come
//
// Both live on cables only: what a dying cable swallows of them is not sent again.
#pragma once

#include <cstdint>

#include "core/transport/api/channel.h"

namespace torusmp::core {

enum class LinkFrame : std::uint8_t {
    news = 0x60,  // NewsBody, as many as fit: which links died, which came back
    hello,        // HelloBody: over a cable that is back, before it is used
    setup,        // SetupBody: hop by hop from one end of a link to the other
    confirm,      // ConfirmBody: remote writes that are complete
    detour        // DetourBody and what it says
};

struct NewsBody {
    std::uint32_t rank;  // of routing::Link
    std::uint32_t dimension;
    std::uint32_t version;  // see LinkStates
    std::uint32_t unused;
};
struct HelloBody {
    std::uint32_t version;  // of the link
    std::uint32_t heard;    // 1: yours has come
};
// What one end has got of the other, said when it takes nothing any more by the old way. In the
// header: `source` says it to `destination`, of the link that leads out of `source` by `tag`.
struct SetupBody {
    std::uint64_t state;    // of all links that the sender knows of; over the cable the version
    std::uint64_t taken;    // LaneCounts: packets, whose credits are home with this
    std::uint32_t notices;  // remote writes that are complete
    std::uint32_t by_cable;
};
struct ConfirmBody {
    std::uint32_t notices;  // so far
    std::uint32_t unused;
};

enum class Detoured : std::uint32_t {
    nothing,
    packet,  // its header and its payload
    placed,  // its header, PlacedBody, its payload, and the bytes that go to their place
    piece    // PieceBody and its bytes
};

// A frame of a dead link. The header names the link like that of a setup, and numbers the frame.
struct DetourBody {
    std::uint64_t state;    // under which the ends have agreed
    std::uint64_t granted;  // LaneCounts: credits that have gone home so far
    std::uint32_t notices;  // as in ConfirmBody
    Detoured content;
};
struct PlacedBody {
    std::uint64_t address;
    std::uint32_t key;
    std::uint32_t bytes;
};
// Of a remote write.
struct PieceBody {
    transport::RemoteMemory memory;
    std::uint64_t offset;
    std::uint64_t notice;
    std::uint32_t last;  // of the write
    std::uint32_t notifies;
};
static_assert(sizeof(PlacedBody) == 16);

static_assert(sizeof(NewsBody) == 16 && sizeof(HelloBody) == 8 && sizeof(SetupBody) == 24);
static_assert(sizeof(ConfirmBody) == 8 && sizeof(DetourBody) == 24 &&
              sizeof(PieceBody) == sizeof(transport::RemoteMemory) + 24);

// So much larger are slots where links have detours: a whole packet travels in one.
inline constexpr std::size_t detour_room =
    sizeof(DetourBody) + sizeof(transport::PacketHeader) + sizeof(PlacedBody);
inline constexpr int control_credits = 8;

}  // namespace torusmp::core
