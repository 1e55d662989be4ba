// SPDX-License-Identifier: BSD-3-Clause
// The cables that are missing from a torus, found from those that are there: a cable that is dead
// is not seen, but the others say where it must be.
//
// Pure; any thread may call. Time grows as that of recognize_torus() times the ways in which the
// free ends can be joined; where these are too many, none is found.
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

// An end of a missing cable of which only the node is known has a port that no cable has: this, or
// a larger number.
inline constexpr int unknown_port = 1 << 20;

// As recognize_torus(), but where the cables alone make no torus, up to some that are missing are
// added, if there is one way to do so. `idle`: ports that a node has and by which nothing is heard:
// they say whether a line of nodes is a ring with one cable dead, and where cables belong. The
// reason given is that for the cables alone.
Completion complete_torus(std::span<const std::string> names, std::span<const Cable> cables,
                          std::span<const CableEnd> idle);

}  // namespace torusmp::routing
