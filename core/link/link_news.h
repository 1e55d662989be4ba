// SPDX-License-Identifier: BSD-3-Clause
// What core tells of the cable under one of a rank's links. A plain value.
#pragma once

#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::core {

struct LinkNews {
    enum class State {
        dead,    // and nothing carries the link yet, or nothing any more
        detour,  // dead, and the link goes on by `path`
        alive    // the link goes over its cable again
    };

    routing::Direction direction{};  // by which the link leaves this rank
    routing::Rank peer = -1;         // at its other end
    State state{};
    std::vector<routing::Hop> path;  // of a detour, from this rank to the peer
    std::string why;                 // what was seen at this end; empty: other ranks have said it
};

}  // namespace torusmp::core
