// SPDX-License-Identifier: BSD-3-Clause
// Ranks that fill a box of the machine's torus: all of it, a line, a plane, every second node of a
// ring. They can be worked with as a torus of their own.
//
// Pure; any thread may call.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// As many extents as the machine has dimensions; an extent of 1 where all have one coordinate.
// Ranks are row-major over the torus, so members in rank order are row-major over their box.
struct Box {
    std::vector<int> extents;
    std::vector<bool> periodic;  // their coordinates go round a ring in equal steps
    bool linked = true;          // neighbours in it are neighbours in the torus, all of them
};

// Nothing where the members, each given once, fill no box.
std::optional<Box> box_of(const Torus& torus, std::span<const Rank> members);

}  // namespace torusmp::routing
