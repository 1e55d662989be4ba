// SPDX-License-Identifier: BSD-3-Clause
// The reports of a Runtime about itself: hosts, connections, faults and pending waits.
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

    // The host of a rank, named by the lowest rank on it; known once connected.
    Rank host_of(Rank rank) const;

    struct ConnectionInfo {
        Rank peer;
        std::optional<routing::Direction> link;  // nullopt for a direct connection
        Statistics statistics;
        bool down;
        std::string_view transport;
    };
    std::vector<ConnectionInfo> connections() const;
    // Calls `visit` for each message that has arrived and that no receive has matched.
    void for_each_unexpected(const std::function<void(Context, const Status&)>& visit) const;
    // The memory used by these messages, in bytes.
    std::size_t unexpected_bytes() const;
    // True if nothing of this rank is in flight: no queue holds a packet and no request is open.
    bool quiet() const;
    // True if all credits of all connections have returned: tests check this when everything has
    // arrived.
    bool credits_home() const;
    // True if every link uses its own cable, and none uses a detour.
    bool on_cables() const;
    // The memory kept for links that have died or may die.
    LinkHoldings link_holdings() const;
    ShortcutCounts shortcuts() const;
    // Every pending wait with its call, peer, link and credits.
    Waits waits() const;
    // The pending waits as text of several lines.
    std::string report() const;

    // The number of ranks and links lost so far; callers compare it to detect a new loss.
    std::uint64_t faults() const;
    // Why a rank is unreachable: its death, or the dead link with the rank that saw it die and the
    // reason.
    std::string fault_of(Rank peer) const;
    // Why a message with `peer` ended with `error`. `peer` is any_source if it is not known.
    std::string why_failed(Error error, Rank peer) const;
    // A rank because of which the members can no longer all work together: a dead one, or an end of
    // a dead link that a path between two members uses. All members agree on whether there is one,
    // once all know of the fault. Returns nullopt if all members can still work together.
    std::optional<Rank> lost_in(std::span<const Rank> members) const;

  private:
    const Core& core_;
};

}  // namespace torusmp::core
