// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells its launcher of the cable under one of its links. A plain value; as bytes, what
// torus-run and its ranks exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::launch {

struct LinkReport {
    enum class State : std::uint32_t {
        dead,    // and nothing carries the link yet, or nothing any more
        detour,  // dead, and the link goes on by `path`
        alive    // the link goes over its cable again
    };

    routing::Direction direction{};  // by which the link leaves this rank
    routing::Rank peer = -1;         // at its other end
    State state{};
    std::vector<routing::Hop> path;  // of a detour, from this rank to the peer
    std::string why;                 // what was seen at this end; empty: the other end has said it

    friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

std::vector<std::byte> encode(const LinkReport& report);
// Nothing for bytes that encode() does not make, or that name ranks or dimensions which `ranks`
// does not have.
std::optional<LinkReport> decode_link_report(std::span<const std::byte> bytes, int ranks);

}  // namespace torusmp::launch
