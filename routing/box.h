// SPDX-License-Identifier: BSD-3-Clause
// Ranks that fill a box of the machine's torus: all of it, a line, a plane, or every second node of
// a ring. A box can be used as a torus of its own.
//
// Pure; any thread may call.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// As many extents as the machine has dimensions; an extent of 1 if all members have the same
// coordinate. Ranks are row-major over the torus, so members in rank order are row-major over their
// box.
struct Box {
    std::vector<int> extents;
    std::vector<bool> periodic;  // the coordinates go round a ring in equal steps
    bool linked = true;          // all neighbours in the box are neighbours in the torus
};

// Empty if the members, each given once, do not fill a box.
std::optional<Box> box_of(const Torus& torus, std::span<const Rank> members);

}  // namespace torusmp::routing
