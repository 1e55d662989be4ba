// SPDX-License-Identifier: BSD-3-Clause
// Finds the cables that are missing from a torus: a dead cable is not seen, but the other cables
// determine its position.
//
// Pure; any thread may call. The time is the time of recognize_torus() multiplied by the number of
// ways in which the free ends can be joined; if there are too many ways, no cable is found.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "routing/recognize.h"

namespace torusmp::routing {

struct Completion {
    Recognition torus;           // with the missing cables added
    std::vector<Cable> missing;  // the ports of their ends may be unknown
};

// If only the node of an end of a missing cable is known, its port is a number that no cable has:
// this one or a larger one.
inline constexpr int unknown_port = 1 << 20;

// Like recognize_torus(), but if the cables alone do not form a torus, adds up to a few missing
// ones, if there is exactly one way to do so. `idle` lists ports of a node on which nothing is
// received; they decide whether a line of nodes is a ring with one dead cable, and where cables
// belong. The reported reason is the reason for the cables alone.
Completion complete_torus(std::span<const std::string> names, std::span<const Cable> cables,
                          std::span<const CableEnd> idle);

}  // namespace torusmp::routing
