// Large messages whose receive the sender does not know: it asks, and the receiver answers.
//
// The receiver's memory for one message is a landing, the sender's a departure; packets name them
// by id. Four ways, all ending with both requests complete:
//   the sender knows the landing  -> writes,              says matched (whole)
//   request, the receiver can read -> reads,              says pulled
//   request, it cannot             -> says clear,         the sender writes, says written
//   no remote access at all        -> as above, but the bytes come as data packets
//
// Handles request, clear and pulled.
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
    // The receive that such a request met, matched now: reads the message, or says where to write
    // it.
    void answer(ReceiveRequest& request, Rank source, Tag tag, const RequestBody& body);

    bool on_request(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_clear(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_pulled(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
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
