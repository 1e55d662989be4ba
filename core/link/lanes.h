// SPDX-License-Identifier: BSD-3-Clause
// Counts of packets by virtual channel: eight counts modulo 256 in one word, laid out like the
// credits of a CreditWord. At most transport::max_credits packets of a virtual channel are in
// flight, so two counts modulo 256 determine their difference.
#pragma once

#include "core/transport/api/packet.h"

namespace torusmp::core {

using LaneCounts = std::uint64_t;

inline constexpr LaneCounts lane_tops = 0x8080808080808080u;

// Adds lane by lane; an overflow does not carry into the next lane.
constexpr LaneCounts add_lanes(LaneCounts a, LaneCounts b) {
    return ((a & ~lane_tops) + (b & ~lane_tops)) ^ ((a ^ b) & lane_tops);
}
constexpr LaneCounts subtract_lanes(LaneCounts a, LaneCounts b) {
    return ((a | lane_tops) - (b & ~lane_tops)) ^ ((a ^ ~b) & lane_tops);
}
// A mask of the lanes of the first `virtual_channels` virtual channels.
constexpr LaneCounts lanes_below(int virtual_channels) {
    return (LaneCounts{1} << (8 * virtual_channels)) - 1;
}
static_assert(add_lanes(0x01ff, 0x0001) == 0x0100 && subtract_lanes(0x0100, 0x0001) == 0x01ff);

}  // namespace torusmp::core
