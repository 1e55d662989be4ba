// SPDX-License-Identifier: BSD-3-Clause
// The state of the cable under one of a rank's links: core reports it to the rank's process, which
// reports it to its launcher. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

struct LinkNews {
    enum class State : std::uint32_t {
        dead,    // nothing carries the link
        detour,  // dead, and the link is routed along `path`
        alive    // the link uses its cable again
    };

    Direction direction{};  // direction in which the link leaves this rank
    Rank peer = -1;         // at its other end
    State state{};
    std::vector<Hop> path;  // of a detour, from this rank to the peer
    std::string why;        // what this end observed; empty if reported by other ranks

    friend bool operator==(const LinkNews&, const LinkNews&) = default;
};

}  // namespace torusmp::routing
