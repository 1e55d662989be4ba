// SPDX-License-Identifier: BSD-3-Clause
// Counts of packets by virtual channel, eight of them modulo 256 in one word, laid out like the
// credits of a CreditWord. What is under way of a virtual channel is at most transport::max_credits
// packets, so two counts modulo 256 tell how far apart they are.
#pragma once

#include "core/transport/api/packet.h"

namespace torusmp::core {

using LaneCounts = std::uint64_t;

inline constexpr LaneCounts lane_tops = 0x8080808080808080u;

// Lane by lane: what overflows one does not run into the next.
constexpr LaneCounts add_lanes(LaneCounts a, LaneCounts b) {
    return ((a & ~lane_tops) + (b & ~lane_tops)) ^ ((a ^ b) & lane_tops);
}
constexpr LaneCounts subtract_lanes(LaneCounts a, LaneCounts b) {
    return ((a | lane_tops) - (b & ~lane_tops)) ^ ((a ^ ~b) & lane_tops);
}
// The lanes of the first `virtual channels` virtual channels.
constexpr LaneCounts lanes_below(int virtual_channels) {
    return (LaneCounts{1} << (8 * virtual_channels)) - 1;
}
static_assert(add_lanes(0x01ff, 0x0001) == 0x0100 && subtract_lanes(0x0100, 0x0001) == 0x01ff);

}  // namespace torusmp::core
