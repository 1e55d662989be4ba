// SPDX-License-Identifier: BSD-3-Clause
// Messages matched by context, source and tag: where sends and receives begin, and small messages,
// which travel whole: copied through a slot, matched on arrival.
//
// Handles eager.
#pragma once

#include <functional>
#include <optional>

#include "core/connection/packet_sender.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/pt2pt/announcements.h"
#include "core/pt2pt/rendezvous.h"

namespace torusmp::core {

class Messages final : public PeerLossListener, private SendRequest::Sender {
  public:
    Messages(Commons& commons, Connections& connections, PacketSender& sender, Matching& matching,
             MatchStates& states, Sends& sends, Receives& receives, RemoteWrites& writes,
             Rendezvous& rendezvous, Announcements& announcements)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          matching_(matching),
          states_(states),
          sends_(sends),
          receives_(receives),
          writes_(writes),
          rendezvous_(rendezvous),
          announcements_(announcements) {}
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    // A small message of one block, whole and at once, if nothing stands in its way. False: nothing
    // was done.
    bool send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag);
    // link: which of two cables it takes; null: any.
    void send(SendRequest& request, const Buffer& buffer, Rank dest, Connection* link,
              Context context, Tag tag, SendMode mode);
    void receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                 Tag tag);
    // The same into one block.
    void receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                       Context context, Tag tag);
    void receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed);
    Unexpected* claim(Rank source, Context context, Tag tag);

    // The cable to the neighbour in that direction; null if there is no choice.
    Connection* cable(routing::Direction direction);
    // A receive meets a message that had come before it.
    void take(ReceiveRequest& request, Unexpected& message);
    // A small message has found its receive.
    void deliver(ReceiveRequest& request, Rank source, Tag tag, const std::byte* payload,
                 std::size_t bytes);
    // A small message waits for its turn.
    void queue(SendRequest& request, Peer& peer, Connection& connection);

    bool on_eager(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void peer_lost(Peer& peer, Error error) override;
    void report(std::string& text) const;

  private:
    // As parts of their callers.
    [[gnu::always_inline]] void receive_here(ReceiveRequest& request, Rank source, Context context,
                                             Tag tag);
    [[gnu::always_inline]] void deliver_here(ReceiveRequest& request, Rank source, Tag tag,
                                             const std::byte* payload, std::size_t bytes);
    [[gnu::noinline]] void keep(const Peer& peer, const transport::PacketHeader& header,
                                const std::byte* payload);
    bool emit(SendRequest& request, Connection& connection) override;
    void drop(SendRequest& request, Error error) override { sends_.finish(request, error); }

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Matching& matching_;
    MatchStates& states_;
    Sends& sends_;
    Receives& receives_;
    RemoteWrites& writes_;
    Rendezvous& rendezvous_;
    Announcements& announcements_;
};

}  // namespace torusmp::core
