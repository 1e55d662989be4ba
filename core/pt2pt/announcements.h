// SPDX-License-Identifier: BSD-3-Clause
// Receiver-announced remote writes for messages matched by tag (sender-side matching).
//
// A posted receive with a known source and tag sends its memory ahead; the sender's next matching
// message goes straight there. Both ends must agree which message matches which receive although
// messages and announcements cross on the way. They agree by counting:
// - An announcement carries the number of the sender's messages that the receiver had seen. The
//   sender keeps the last log_size (context, tag) it sent; a later message that matches is on its
//   way to this very receive, so the announcement is void. Each such message voids one.
// - Otherwise the announcement is held, and the next matching message takes the oldest: a large one
//   is written there, a small one travels whole and matches the same receive by order.
// - This is correct only as long as the receiver would match in the order in which it announced. So
//   a receive is announced only if no wildcard is posted and the receive before it with the same
//   key, if any, is also announced.
// - If the log does not reach back far enough, the sender refuses: all announcements that it holds,
//   and those on the way, are void by epoch. The refusal has its place in the sender's stream, so
//   the receiver knows which receive handles were used before it.
// Handles announce and refuse.
#pragma once

#include <optional>

#include "core/connection/packet_sender.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/pt2pt/receives.h"

namespace torusmp::core {

class Announcements {
  public:
    Announcements(Commons& commons, Connections& connections, PacketSender& sender,
                  Matching& matching, MatchStates& states, Receives& receives)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          matching_(matching),
          states_(states),
          receives_(receives) {}

    // Whether this receive of a large message should be announced when it is posted.
    bool worth_it(const ReceiveRequest& request);
    // Whether this receive of a small message may be in memory that its sender has mapped.
    bool may_be_stored(const ReceiveRequest& request);
    // Announces the receive; that of a small message only if its sender has mapped the memory.
    void announce(ReceiveRequest& request);
    // Whether an announcement is probably on its way that is worth a poll before a message is sent.
    bool is_coming(Rank peer) {
        const MatchState& match = states_[peer];
        return match.crossed && match.held.empty();
    }
    void has_not_come(Rank peer) { states_[peer].crossed = !states_[peer].held.empty(); }
    // Counts a message that is sent now. Returns false, having done nothing, if announcements are
    // held, one of which may be for this message.
    bool count_sent(Rank peer, Context context, Tag tag) {
        MatchState& match = states_[peer];
        if (!match.held.empty()) [[unlikely]]
            return false;
        match.log[match.sent++ % MatchState::log_size] = {context, tag, false};
        return true;
    }
    // Counts a message that is sent now, and takes the announcement that it fulfils, if any.
    std::optional<Announcement> take(Rank peer, Context context, Tag tag) {
        MatchState& match = states_[peer];
        std::optional<Announcement> found;
        if (!match.held.empty()) [[unlikely]]
            found = take_held(match, context, tag);
        match.log[match.sent++ % MatchState::log_size] = {context, tag, found.has_value()};
        return found;
    }

    bool on_rtr(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_refuse(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

  private:
    static std::optional<Announcement> take_held(MatchState& match, Context context, Tag tag);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Matching& matching_;
    MatchStates& states_;
    Receives& receives_;
};

}  // namespace torusmp::core
