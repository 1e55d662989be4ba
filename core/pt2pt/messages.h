// SPDX-License-Identifier: BSD-3-Clause
// Messages matched by context, source and tag: starts sends and receives, and carries small
// messages whole: copied through a slot and matched on arrival.
//
// Handles eager.
#pragma once

#include <functional>
#include <optional>

#include "core/connection/packet_sender.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/match/unexpected_store.h"
#include "core/pt2pt/announcements.h"
#include "core/pt2pt/rendezvous.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Messages final : public PeerLossListener, private SendRequest::Sender {
  public:
    Messages(Commons& commons, Connections& connections, PacketSender& sender,
             UnexpectedStore& store, Matching& matching, MatchStates& states, Sends& sends,
             Receives& receives, RemoteWrites& writes, Rendezvous& rendezvous,
             Announcements& announcements)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          store_(store),
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

    // Polls once, by `poll`, for an announcement that is probably on its way, if such a message
    // could be stored in its memory.
    void look_for_announcement(std::size_t bytes, Rank dest, auto&& poll) {
        if (bytes < commons_.options.store_limit || !announcements_.is_coming(dest)) [[likely]]
            return;
        poll();
        announcements_.has_not_come(dest);
    }
    // Sends a small message of one block immediately and in one packet, if nothing prevents it.
    // Returns false, having done nothing, otherwise.
    bool send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag);
    // `link` selects one of several cables; null for any.
    void send(SendRequest& request, const Buffer& buffer, Rank dest, Connection* link,
              Context context, Tag tag, SendMode mode);
    void receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                 Tag tag);
    // Receives into one block.
    void receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                       Context context, Tag tag);
    void receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed);
    Unexpected* claim(Rank source, Context context, Tag tag);

    // The cable to the neighbour in that direction; null if the message may take either.
    Connection* cable(routing::Direction direction);
    // Matches a receive with a message that arrived before it.
    void take(ReceiveRequest& request, Unexpected& message);
    // Delivers a small message to its receive.
    void deliver(ReceiveRequest& request, Rank source, Tag tag, const std::byte* payload,
                 std::size_t bytes);
    // Whether a message of that size waits here until a receive of the peer asks for it: a large
    // message does, and so does a small one while the peer holds ours, but only as many as there
    // are ids.
    bool waits_here(const Peer& peer, std::size_t bytes) const {
        return bytes >= peer.holds_from && (!commons_.options.is_eager(bytes) || sends_.has_room());
    }
    // Queues a small message until its turn.
    void queue(SendRequest& request, Peer& peer, Connection& connection);

    void begin_write(SendRequest& request, const Announcement& announced);
    bool stores(const Announcement& announced, const Buffer& buffer, Peer& peer);
    bool on_eager(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void peer_lost(Peer& peer, Error error) override;
    // See Survivors.
    void suspend_wildcards(Context context);
    void resume_wildcards(Context context);
    void report(Waits& waits) const;

  private:
    void end(ReceiveRequest& request, Rank source, Error error);
    void report_pending(ReceiveRequest& request);
    // Inlined into their callers.
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
    UnexpectedStore& store_;
    Matching& matching_;
    MatchStates& states_;
    Sends& sends_;
    Receives& receives_;
    RemoteWrites& writes_;
    Rendezvous& rendezvous_;
    Announcements& announcements_;
};

}  // namespace torusmp::core
