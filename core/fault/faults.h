// SPDX-License-Identifier: BSD-3-Clause
// Dead links and dead ranks: spreads the news, and ends what depends on them with an error.
//
// A rank that sees a link die notifies its neighbours, and they notify theirs. Paths are fixed
// (routing/ways.h), so every rank computes for itself which ranks it can no longer reach: those
// whose path, there or back, crosses a dead link.
//
// Handles link_dead.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/connection/packet_sender.h"
#include "core/far/far_ends.h"

namespace torusmp::core {

class Faults final : public FaultHandler {
  public:
    // `listeners` are the modules that keep state for peers, in the order in which they are
    // notified.
    Faults(Commons& commons, Connections& connections, PacketSender& sender, FarEnds& far_ends,
           std::vector<PeerLossListener*> listeners)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          far_ends_(far_ends),
          listeners_(std::move(listeners)) {}

    void close(Connection& connection, Error error, std::string_view why,
               std::string sight = {}) override;
    void close_unreached() override;
    void lose(Peer& peer, Error error, std::string why) override;
    void tell_fault(const std::string& text) override;
    // While the links are awaited, the first fault is the reason why they do not come up. Between
    // these two calls faults are kept instead of reported.
    void begin_start();
    bool start_failed() const { return !start_troubles_.empty(); }
    std::vector<std::string> end_start();
    // The launcher reports that a rank is dead, or that all deaths up to now have been reported, so
    // the other lost peers are alive and cut off from this rank.
    void peer_died(Rank peer, std::string_view why);
    void deaths_are_known();
    // Called for each lost rank, after all modules.
    void set_listener(std::function<void(Rank)> listener) { listener_ = std::move(listener); }
    bool on_link_dead(Connection& connection, const std::byte* payload, std::size_t bytes);

    // See Inspection::faults(), fault_of() and lost_in().
    std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
    void count_one() { count_.fetch_add(1, std::memory_order_relaxed); }
    std::string why_lost(Rank peer) const;
    // Why a message with `peer` ended with `error`. `peer` is any_source if it is not known.
    std::string why_failed(Error error, Rank peer) const;
    std::optional<Rank> lost_in(std::span<const Rank> members) const;

  private:
    struct DeadLink {
        Rank at;
        routing::Direction direction;
        Rank suspect;  // the end that has not reported: each link of a dead rank names that rank
        std::string what;  // "the link between rank 3 and rank 7 is dead; rank 3 saw: ..."
        // Its ends live, as far as the launcher knows. (Otherwise the paths of FarEnds will
        // change.)
        bool ends_live = false;
    };
    void link_dead(Rank at, routing::Direction direction, const Connection* heard_from,
                   const std::string& sight);
    std::string route_of(const Connection& connection) const;
    bool crosses(Rank from, Rank to, Rank at, routing::Direction direction) const;
    void lose_behind(const DeadLink& link);
    void judge_links();

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    FarEnds& far_ends_;
    std::vector<PeerLossListener*> listeners_;
    std::function<void(Rank)> listener_;
    std::deque<DeadLink> dead_links_;  // references stay valid: a loss may bring further news
    // Faults of connections that the death of this peer would explain.
    std::vector<std::pair<Rank, std::string>> untold_;
    std::atomic<std::uint64_t> count_{0};
    bool starting_ = false;
    std::vector<std::string> start_troubles_;
};

}  // namespace torusmp::core
