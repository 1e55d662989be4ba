// SPDX-License-Identifier: BSD-3-Clause
// Large messages whose receive the sender does not know: the sender asks, and the receiver answers.
//
// Packets name the receiver's memory of one message by a receive handle and the sender's by a send
// handle. There are four cases, all of which end with both requests complete:
//   the sender knows the receive handle -> writes,             sends matched (whole)
//   RTS, the receiver can read          -> reads,              sends FIN
//   RTS, it cannot                      -> sends CTS,          the sender writes, sends written
//   no remote access at all             -> as above, but the bytes come as data packets
//
// Handles RTS, CTS and FIN.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/connection/transfer_listener.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/match/unexpected_store.h"
#include "core/pt2pt/receives.h"
#include "core/pt2pt/remote_writes.h"
#include "core/pt2pt/sends.h"

namespace torusmp::core {

class Rendezvous final : public TransferListener {
  public:
    Rendezvous(Commons& commons, Connections& connections, PacketSender& sender,
               UnexpectedStore& store, Matching& matching, MatchStates& states, Sends& sends,
               Receives& receives, RemoteWrites& writes)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          store_(store),
          matching_(matching),
          states_(states),
          sends_(sends),
          receives_(receives),
          writes_(writes) {}

    // Notifies the receiver that a message waits here.
    void ask(SendRequest& request, Peer& peer);
    // Does the same for a message that already has its sequence number, over the path on which it
    // waited. Precondition: there is a credit.
    void ask_by(Connection& connection, SendRequest& request, Peer& peer);
    // Answers an RTS for the receive that has just matched it: reads the message, or names the
    // memory to write to.
    void answer(ReceiveRequest& request, Rank source, Tag tag, const RtsBody& body);

    bool on_rts(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_cts(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_fin(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void on_notice(Connection& connection, std::uint64_t notice) override {
        receives_.on_notice(connection, notice);
    }
    void on_transfer_end(Connection& connection, std::uint64_t cookie, bool ok) override;

  private:
    RtsBody request_of(SendRequest& request, Peer& peer);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    UnexpectedStore& store_;
    Matching& matching_;
    MatchStates& states_;
    Sends& sends_;
    Receives& receives_;
    RemoteWrites& writes_;
};

}  // namespace torusmp::core
