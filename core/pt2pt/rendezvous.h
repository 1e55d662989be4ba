// SPDX-License-Identifier: BSD-3-Clause
// Large messages whose receive the sender does not know: it asks, and the receiver answers.
//
// Packets name the receiver's memory for one message by a receive handle, the sender's by a send
// handle. There are four ways, all of which end with both requests complete:
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
#include "core/pt2pt/receives.h"
#include "core/pt2pt/remote_writes.h"
#include "core/pt2pt/sends.h"

namespace torusmp::core {

class Rendezvous final : public TransferListener {
  public:
    Rendezvous(Commons& commons, Connections& connections, PacketSender& sender, Matching& matching,
               MatchStates& states, Sends& sends, Receives& receives, RemoteWrites& writes)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          matching_(matching),
          states_(states),
          sends_(sends),
          receives_(receives),
          writes_(writes) {}

    // Tells the receiver that a message waits here.
    void ask(SendRequest& request, Peer& peer);
    // The receive that met such an RTS, matched now: reads the message, or says where to write it.
    void answer(ReceiveRequest& request, Rank source, Tag tag, const RtsBody& body);

    bool on_rts(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_cts(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_fin(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void on_notice(Connection& connection, std::uint64_t notice) override {
        receives_.on_notice(connection, notice);
    }
    void on_transfer(Connection& connection, std::uint64_t cookie, bool ok) override;

  private:
    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Matching& matching_;
    MatchStates& states_;
    Sends& sends_;
    Receives& receives_;
    RemoteWrites& writes_;
};

}  // namespace torusmp::core
