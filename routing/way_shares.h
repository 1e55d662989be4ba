// SPDX-License-Identifier: BSD-3-Clause
// How a large message is divided among its ways (routing/ways.h) if all ranks send to one at the
// same time, as in a gather or in a collective write to one host's disk.
//
// Where extents differ, equal parts would load the links of that rank unequally: on 3x3x2 few of
// the paths end on the links of the shortest dimension, and together the messages would fill only
// 0.77 of the rank's links, on 8x4x2 0.60. With these shares all of its links are filled.
//
// Pure function; any thread may call.
#pragma once

#include <array>
#include <cstdint>

#include "routing/torus.h"

namespace torusmp::routing {

// By the index of a way's first direction, in 1/whole_message; 0 where no way begins.
using WayShares = std::array<std::uint8_t, std::size_t(2 * max_dimensions)>;
inline constexpr int whole_message = 255;

// The shares of messages from `from` to `to`; their sum is whole_message. They minimise the load of
// the busiest link if every rank sends equally much to `to`, within a few hundredths. Takes time in
// proportion to the number of ranks and their distances: 0.1 ms for 64 ranks. Precondition: two
// different ranks, between which there is a path.
WayShares way_shares(const Torus& torus, Rank from, Rank to);

}  // namespace torusmp::routing
