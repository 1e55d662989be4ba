// SPDX-License-Identifier: BSD-3-Clause
// The connections to all ranks beyond the links, in a job that continues after deaths, and the
// paths over the living ranks. No message between living ranks is lost when relays die:
// - Each FarEnd keeps its packets until the other end has taken them.
// - Packets carry the number of deaths that their source knew. A relay forwards those that agree
//   with its own number, drops those that know less, and holds those that know more until it has
//   learned of these deaths. So no path is mixed from two sets of paths.
// - A rank that learns of a death sends again, on the new paths, all that is not confirmed.
// docs/architecture.md, "Relays that die", has the arguments.
//
// Used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/connection/fault_handler.h"
#include "core/far/far_end.h"
#include "routing/living_paths.h"

namespace torusmp::core {

class FarEnds final : public PeerLossListener {
  public:
    FarEnds(Commons& commons, Connections& connections, PacketSender& sender)
        : commons_(commons), connections_(connections), sender_(sender) {}

    // Makes the connections, once those of the links are made.
    void connect();
    // Whether all relayed packets of the job have envelopes.
    bool in_use() const { return in_use_; }

    enum class Passage { free, behind, ahead, forged };
    // Whether a relayed packet knows as many deaths as this rank: `behind` it knows fewer.
    Passage judge(const transport::PacketHeader& header, const std::byte* payload) const;
    // The paths since the first death; null before.
    const routing::LivingPaths* living() const { return living_ ? &*living_ : nullptr; }
    // The path of packets between two ranks that are not neighbours; empty if there is none.
    std::vector<routing::Hop> path(Rank from, Rank to) const;

    // One more rank is known to be dead. Peers to which no path leads any more are lost already, or
    // are now.
    void change_paths(FaultHandler& faults);

    void report(Waits& waits) const;

    // PeerLossListener
    void peer_lost(Peer& peer, Error error) override;

  private:
    void lead(FarEnd& end) const;

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    bool in_use_ = false;
    std::uint32_t deaths_ = 0;
    std::optional<routing::LivingPaths> living_;
    std::vector<std::unique_ptr<FarEnd>> ends_;
};

}  // namespace torusmp::core
