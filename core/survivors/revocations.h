// SPDX-License-Identifier: BSD-3-Clause
// Groups that a member has revoked: the news reaches all living members, even if members die
// meanwhile.
//
// The member that revokes a group notifies all others. Each of them remembers its notifier, and
// notifies all others itself when that member dies. So if a living member knows, either its
// notifier lives and notifies all others, or this member does. A member that notifies others and
// has lost one that may live asks them to spread the news: each of them notifies all others, too.
//
// Handles revoke.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/connection/packet_sender.h"
#include "core/progress/progress.h"
#include "core/survivors/closed_groups.h"

namespace torusmp::core {

class Revocations final : public PeerLossListener {
  public:
    Revocations(Commons& commons, Connections& connections, PacketSender& sender,
                Progress& progress)
        : commons_(commons), connections_(connections), sender_(sender), progress_(progress) {}
    Revocations(const Revocations&) = delete;
    Revocations& operator=(const Revocations&) = delete;

    // Called once for each group that is open and revoked, under the Runtime's lock.
    void set_listener(std::function<void(Context)> listener) { listener_ = std::move(listener); }
    // The group exists here. `members` are the others, in any order. It may be revoked already.
    void open(Context context, std::vector<Rank> members);
    void close(Context context);
    void revoke(Context context);

    bool on_revoke(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void peer_lost(Peer& peer, Error error) override;

  private:
    struct Record {
        std::vector<Rank> members;
        bool open = false;
        bool revoked = false;
        bool sent = false;     // this rank has notified all others, or does so now
        bool spreads = false;  // each member that is notified notifies all others
        bool sent_to_spread = false;
        Rank by = any_source;  // the member that notified this rank
    };
    static constexpr Tag spread = 1;  // in a packet's header
    void notify(Context context, Record& record);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Progress& progress_;
    std::function<void(Context)> listener_;
    std::map<Context, Record> records_;
    ClosedGroups closed_;
};

}  // namespace torusmp::core
