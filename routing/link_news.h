// SPDX-License-Identifier: BSD-3-Clause
// What became of the cable under one of a rank's links: core tells it to the rank's process, and
// that to its launcher. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

struct LinkNews {
    enum class State : std::uint32_t {
        dead,    // and nothing carries the link yet, or nothing any more
        detour,  // dead, and the link goes on by `path`
        alive    // the link goes over its cable again
    };

    Direction direction{};  // by which the link leaves this rank
    Rank peer = -1;         // at its other end
    State state{};
    std::vector<Hop> path;  // of a detour, from this rank to the peer
    std::string why;        // what was seen at this end; empty: other ranks have said it

    friend bool operator==(const LinkNews&, const LinkNews&) = default;
};

}  // namespace torusmp::routing
