// SPDX-License-Identifier: BSD-3-Clause
#include "job/hang/transit.h"

#include <algorithm>

namespace torusmp::job {
namespace {

bool meet(const Operation& receive, Rank sender, const Operation& send) {
    return receive.context == send.context && receive.channel == send.channel &&
           (receive.peer == any_source || receive.peer == sender) &&
           (send.channel || tags_meet(receive.tag, send.tag));
}

}  // namespace

Transit::Transit(const Snapshot& snapshot) : snapshot_(snapshot) {
    for (const RankState& it : snapshot)
        if (it.waits)
            for (const Waits::Link& link : it.waits->links)
                unsettled_ |= link.apart || link.silent > 0;
}

const Waits& Transit::waits(Rank rank) const {
    static const Waits none;
    return state(rank).waits ? *state(rank).waits : none;
}

bool Transit::packets(Rank from, Rank to) const {
    return state(from).waits && state(to).waits &&
           waits(from).traffic_with(to).sent != waits(to).traffic_with(from).taken;
}

bool Transit::pieces(Rank from, Rank to, core::Context context) const {
    const auto& all = waits(to).operations;
    return std::any_of(all.begin(), all.end(), [&](const Operation& it) {
        return it.kind == Operation::Kind::receive && it.stage == Operation::Stage::moving &&
               it.peer == from && it.context == context;
    });
}

bool Transit::meets_receive(Rank sender, const Operation& send) const {
    const RankState& peer = state(send.peer);
    if (!peer.waits) return false;
    if (peer.waits->left_out != 0) return true;  // it may be among those
    return std::any_of(peer.waits->operations.begin(), peer.waits->operations.end(),
                       [&](const Operation& it) {
                           return it.kind == Operation::Kind::receive && meet(it, sender, send);
                       });
}
bool Transit::meets_send(Rank sender, Rank receiver, const Operation& receive) const {
    const RankState& peer = state(sender);
    if (!peer.waits) return false;
    if (peer.waits->left_out != 0) return true;  // it may be among those
    return std::any_of(peer.waits->operations.begin(), peer.waits->operations.end(),
                       [&](const Operation& it) {
                           return it.kind == Operation::Kind::send && it.peer == receiver &&
                                  meet(receive, sender, it);
                       });
}

std::vector<Rank> Transit::holders_of(Rank rank) const {
    std::vector<bool> seen(snapshot_.size());
    std::vector<Rank> next{rank}, holders;
    while (!next.empty()) {
        const Rank here = next.back();
        next.pop_back();
        for (const Waits::Queue& it : waits(here).queues) {
            if (seen[std::size_t(it.peer)]) continue;
            seen[std::size_t(it.peer)] = true;
            (state(it.peer).in_call() ? next : holders).push_back(it.peer);
        }
    }
    std::sort(holders.begin(), holders.end());
    return holders;
}

}  // namespace torusmp::job
