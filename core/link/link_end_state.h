// SPDX-License-Identifier: BSD-3-Clause
// The states of a link's end, and the transitions between them: apart, then asking, then on a
// detour; or apart, then returning, then on the cable. Each path ends apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace torusmp::core {

enum class LinkEndState : std::uint8_t {
    on_cable,   // packets go to the transport's channel; the only added cost is the copy
    apart,      // nothing leaves; the cable is dead, and the ends have no path
    asking,     // like apart; this end has asked the far end for a detour, and takes frames of it
    on_detour,  // the ends have agreed; frames made from the copies go through other ranks
    returning,  // there is a cable again; this end waits for what the far end has received
    closed      // permanently
};

constexpr bool may_follow(LinkEndState next, LinkEndState state) {
    using enum LinkEndState;
    if (state == closed || state == next) return false;
    return next == apart || next == closed || (next == on_cable && state == returning) ||
           (next == asking && state == apart) || (next == on_detour && state == asking) ||
           (next == returning && state == apart);
}

// The state as text for reports.
constexpr std::string_view name_of(LinkEndState state) {
    switch (state) {
        case LinkEndState::on_cable:
            return "on its cable";
        case LinkEndState::apart:
            return "has no detour";
        case LinkEndState::asking:
            return "waiting for the other end to agree on the detour";
        case LinkEndState::on_detour:
            return "on a detour";
        case LinkEndState::returning:
            return "its cable is back; waiting for the other end to confirm";
        case LinkEndState::closed:
            return "given up";
    }
    return "";
}

}  // namespace torusmp::core
