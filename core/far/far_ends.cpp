// SPDX-License-Identifier: BSD-3-Clause
#include "core/far/far_ends.h"

#include <fmt/format.h>

#include "base/trace.h"
#include "routing/ways.h"

namespace torusmp::core {

void FarEnds::connect() {
    in_use_ = connections_.relays() && commons_.options.tolerates_deaths &&
              connections_.size() <= routing::max_graph_ranks;
    if (!in_use_) return;
    for (Peer& peer : connections_.peers()) {
        if (peer.via == nullptr || !peer.via->link || peer.via->peer == peer.rank) continue;
        Connection& connection = connections_.add_far(peer);
        connection.far =
            ends_.emplace_back(std::make_unique<FarEnd>(commons_, sender_, connection, deaths_))
                .get();
        connection.channel = connection.far;
        connection.channel->owner = &connection;
        lead(*connection.far);
    }
}

// Sets the link by which its packets leave.
void FarEnds::lead(FarEnd& end) const {
    const Rank self = commons_.rank(), peer = end.connection().peer;
    const auto hop =
        living_ ? living_->next_hop(self, peer) : commons_.torus().next_hop(self, peer);
    end.leave_by(hop ? connections_.link(hop->direction) : nullptr);
}

FarEnds::Passage FarEnds::judge(const transport::PacketHeader& header,
                                const std::byte* payload) const {
    Envelope envelope;
    if (!read_envelope(header, payload, envelope) ||
        envelope.deaths >= std::uint32_t(connections_.size()))
        return Passage::forged;
    if (envelope.deaths == deaths_) return Passage::free;
    return envelope.deaths < deaths_ ? Passage::behind : Passage::ahead;
}

std::vector<routing::Hop> FarEnds::path(Rank from, Rank to) const {
    return living_ ? living_->path(from, to) : routing::usual_path(commons_.torus(), from, to);
}

void FarEnds::change_paths(FaultHandler& faults) {
    if (!in_use_) return;
    std::vector<bool> dead;
    deaths_ = 0;
    for (const Peer& peer : connections_.peers()) {
        dead.push_back(peer.reported);
        deaths_ += peer.reported ? 1 : 0;
    }
    living_.emplace(commons_.torus(), dead, commons_.rank());
    TORUSMP_TRACE(connection, info, commons_.rank(), "relays over new paths after {} deaths",
                  deaths_);
    const auto joined = [&](const FarEnd& end) {
        return living_->joins(commons_.rank(), end.connection().peer);
    };
    for (const auto& end : ends_) {
        if (connections_.peer(end->connection().peer).dead || !joined(*end)) continue;
        lead(*end);
        end->send_again();
    }
    // After the others, because those that are notified of a loss may send packets.
    for (const auto& end : ends_)
        if (Peer& peer = connections_.peer(end->connection().peer); !joined(*end))
            faults.lose(peer, Error::unreachable,
                        commons_.name_of(peer.rank) +
                            " cannot be reached: all paths to it led over ranks that have died");
}

void FarEnds::report(Waits& waits) const {
    for (const auto& end : ends_)
        if (end->unconfirmed() != 0)
            waits.notes.push_back(
                fmt::format("{} of {} packets to {} may be under way; {} of its packets have come",
                            end->unconfirmed(), end->sent(),
                            commons_.name_of(end->connection().peer), end->taken()));
}

void FarEnds::peer_lost(Peer& peer, Error error) {
    if (peer.via == nullptr || peer.via->far == nullptr || peer.via->down()) return;
    PacketSender::drop_queues(*peer.via, error);
    peer.via->far->forget();
    peer.via->go_down();
}

}  // namespace torusmp::core
