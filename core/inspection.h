// SPDX-License-Identifier: BSD-3-Clause
// What a Runtime tells about itself: hosts, connections, faults, what waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/connection/connection.h"
#include "core/connection/shortcut_counts.h"
#include "core/link/link_holdings.h"
#include "core/request.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Core;

class Inspection {
  public:
    explicit Inspection(const Core& core) : core_(core) {}

    // The host of a rank, by the lowest rank there; known once connected.
    Rank host_of(Rank rank) const;

    struct ConnectionInfo {
        Rank peer;
        std::optional<routing::Direction> link;  // nothing: a direct connection
        Statistics statistics;
        bool down;
        std::string_view transport;
    };
    std::vector<ConnectionInfo> connections() const;
    // Messages that have come and that no receive has asked for.
    void for_each_unexpected(const std::function<void(Context, const Status&)>& visit) const;
    // True while nothing of ours is under way: no queue holds a packet, no request is open.
    bool quiet() const;
    // All credits of all connections have returned: tests check this when everything has arrived.
    bool credits_home() const;
    // Every link goes over its own cable, none over a detour.
    bool on_cables() const;
    // What is kept for links that died, or may die.
    LinkHoldings link_holdings() const;
    ShortcutCounts shortcuts() const;
    // Every pending wait: what, peer, link, credits held.
    Waits waits() const;
    // The same as text: many lines.
    std::string report() const;

    // How many ranks and links have been lost, for callers that check whether there is a new one.
    std::uint64_t faults() const;
    // Why a rank cannot be reached: its death, or the dead link and who saw what there.
    std::string fault_of(Rank peer) const;
    // A rank because of which not all of these can work together any more: a dead one, or an end of
    // a dead link that a path between two of them uses. Whether there is one is the same for all of
    // them once all know of the fault. Nothing while all is well.
    std::optional<Rank> lost_in(std::span<const Rank> members) const;

  private:
    const Core& core_;
};

}  // namespace torusmp::core
