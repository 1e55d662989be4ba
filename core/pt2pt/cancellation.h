// SPDX-License-Identifier: BSD-3-Clause
// Cancels receives and sends. The peer must first release what it may be using: an announced
// receive is withdrawn, and a send that waits for its receive is retracted.
//
// Handles withdraw, withdrawn, retract and retracted.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/match/unexpected_store.h"
#include "core/pt2pt/receives.h"
#include "core/pt2pt/sends.h"

namespace torusmp::core {

class Cancellation {
  public:
    Cancellation(Commons& commons, Connections& connections, PacketSender& sender,
                 UnexpectedStore& store, Matching& matching, MatchStates& states, Sends& sends,
                 Receives& receives, transport::Sink& sink)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          store_(store),
          matching_(matching),
          states_(states),
          sends_(sends),
          receives_(receives),
          sink_(sink) {}

    // For messages from a rank to itself, the cancellation is decided when these return.
    void cancel(ReceiveRequest& request);
    void cancel(SendRequest& request);
    // The same, but the message keeps its place in the order of messages: a receive that it matches
    // gets no later one in its stead, and waits until it is cancelled or a loss ends it. So the
    // order holds at ranks that do not know yet why the message will not come.
    void abandon(SendRequest& request);
    // All in the contexts from `first` on. Sends are abandoned.
    void cancel_all(Context first, Context count);

    bool on_withdraw(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_withdrawn(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_retract(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_retracted(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

  private:
    void retract(SendRequest& request, bool abandoned);
    void finish_with_oneself(const Request& request);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    UnexpectedStore& store_;
    Matching& matching_;
    MatchStates& states_;
    Sends& sends_;
    Receives& receives_;
    transport::Sink& sink_;
};

}  // namespace torusmp::core
