// SPDX-License-Identifier: BSD-3-Clause
#include "core/survivors/revocations.h"

#include <utility>

namespace torusmp::core {

void Revocations::open(Context context, std::vector<Rank> members) {
    const Progress::Guard guard(progress_);
    Record& record = records_[context];
    TORUSMP_ASSERT(!record.open, commons_.rank(), context);
    record.open = true;
    record.members = std::move(members);
    if (!record.revoked) return;
    if (connections_.peer(record.by).dead || record.spreads) notify(context, record);
    if (listener_) listener_(context);
}

void Revocations::close(Context context) {
    const Progress::Guard guard(progress_);
    const auto found = records_.find(context);
    if (found == records_.end()) return;
    found->second.open = false;
    if (!found->second.revoked) {
        records_.erase(found);
        return;
    }
    closed_.keep(context, records_);
}

void Revocations::revoke(Context context) {
    const Progress::Guard guard(progress_);
    Record& record = records_[context];
    if (record.revoked) return;
    record.revoked = true;
    notify(context, record);
    if (record.open && listener_) listener_(context);
}

bool Revocations::on_revoke(Peer& peer, const transport::PacketHeader& header,
                            const std::byte* /*payload*/) {
    if (header.length != 0) return false;
    Record& record = records_[header.context];
    record.spreads |= header.tag == spread;
    if (record.revoked) {
        if (record.spreads) notify(header.context, record);
        return true;
    }
    record.revoked = true;
    record.by = peer.rank;
    if (record.spreads) notify(header.context, record);
    commons_.stirred = true;
    if (record.open && listener_) listener_(header.context);
    return true;
}

// Notifies the others once, and once more if the news has to spread.
void Revocations::notify(Context context, Record& record) {
    if (record.members.empty()) return;  // open() notifies them
    for (const Rank rank : record.members)
        record.spreads |= connections_.may_live(connections_.peer(rank));
    if (record.sent && (!record.spreads || record.sent_to_spread)) return;
    record.sent = true;
    record.sent_to_spread = record.spreads;
    for (const Rank rank : record.members) {
        Peer& peer = connections_.peer(rank);
        if (peer.dead || rank == commons_.rank()) continue;
        sender_.send_bytes(connections_.to(peer), peer, PacketKind::revoke, {}, context,
                           record.spreads ? spread : 0);
    }
}

void Revocations::peer_lost(Peer& peer, Error /*error*/) {
    for (auto& [context, record] : records_)
        if (record.revoked &&
            (record.by == peer.rank || (record.sent && connections_.may_live(peer))))
            notify(context, record);
}

}  // namespace torusmp::core
