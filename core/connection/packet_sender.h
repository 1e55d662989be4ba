// SPDX-License-Identifier: BSD-3-Clause
// Packets on their way out: credits, headers, and the queues of what waits for credits.
//
// Used under the Runtime's lock.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/connection/connections.h"
#include "core/connection/fault_handler.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class PacketSender {
  public:
    PacketSender(Commons& commons, Connections& connections, FaultHandler& faults)
        : commons_(commons), connections_(connections), faults_(faults) {}

    transport::PacketHeader header_to(const Peer& peer, PacketKind kind, std::size_t bytes) const;

    // A small message of one block, at once and whole. Precondition: there is a credit.
    void transmit_eager(Connection& connection, Peer& peer, std::uint32_t context, Tag tag,
                        transport::ConstBytes message) {
        const transport::PacketHeader header = transport::make_header(
            std::uint8_t(PacketKind::eager), message.size(), grants_for(connection),
            peer.send_sequence++, std::uint32_t(commons_.rank()), std::uint32_t(peer.rank), context,
            tag);
        connection.credits -= transport::credit_of(0);
        ++connection.statistics.packets_sent;
        connection.statistics.bytes_sent += message.size();
        connection.channel->send(header, message);
    }

    // ---- at once; precondition: there is a credit ----
    // What every packet does as it leaves.
    void take_credit(Connection& connection, transport::PacketHeader& header);
    void transmit(Connection& connection, transport::PacketHeader& header,
                  transport::ConstBytes payload);
    // `prefix`, then bytes [from, from + bytes) of a message, packed on the way.
    void transmit_packed(Connection& connection, transport::PacketHeader& header,
                         transport::ConstBytes prefix, const Buffer& buffer, std::size_t from,
                         std::size_t bytes);
    void transmit_message(Connection& connection, transport::PacketHeader& header,
                          const Buffer& buffer);

    // ---- at once or when its turn comes: a packet with a body of core's own ----
    template <class Body>
    void send(Peer& peer, PacketKind kind, const Body& body, std::uint32_t context = 0,
              Tag tag = 0) {
        if (peer.dead) return;
        Connection& way = is_sequenced(kind) ? connections_.way(peer) : connections_.to(peer);
        send_over(way, peer, kind, body, context, tag);
    }
    template <class Body>
    void send_over(Connection& connection, Peer& peer, PacketKind kind, const Body& body,
                   std::uint32_t context = 0, Tag tag = 0) {
        send_bytes(connection, peer, kind, std::as_bytes(std::span(&body, 1)), context, tag);
    }

    void send_bytes(Connection& connection, Peer& peer, PacketKind kind, transport::ConstBytes body,
                    std::uint32_t context, Tag tag);

    // A packet that has its place in the order already, and went another way in vain.
    void send_again(Connection& connection, const transport::PacketHeader& header,
                    transport::ConstBytes body);

    // Whether a packet of ours may leave at once: nothing waits, and there is a credit. Credits of
    // a direct connection that have come home since the last poll are taken first, so one who sends
    // and does not poll has to queue only where the other end is really behind.
    bool may_leave(Connection& connection) {
        return (connection.messages.empty() && connection.may_enter()) ||
               (!connection.link && make_way(connection));
    }

    // ---- queues ----
    enum class Queue { message, stream };
    void enqueue(Connection& connection, Outgoing& item, Queue queue);
    bool has_backlog() const { return !backlog_.empty(); }
    // Sends what the credits allow, of all connections; true if something left.
    bool flush_backlog();
    // Nothing of this connection leaves any more.
    static void drop_queues(Connection& connection, Error error);

    // ---- credits of the other way ----
    // A slot of ours is free again. Its credit returns with the next packet of a direct connection,
    // or alone when half of the credits are owed.
    void slot_taken(Connection& connection, int virtual_channel) {
        connection.owed += transport::credit_of(virtual_channel);
        if (transport::credits_in(connection.owed, virtual_channel) >=
            connection.grant_at[std::size_t(virtual_channel)])
            give_owed(connection);
    }
    // Everything owed is returned now.
    void give_owed(Connection& connection);
    void collect_grants(Connection& connection);

    bool idle() const;
    // All credits have returned; what a peer owes below its threshold counts as returned.
    bool credits_home() const;
    void report(Waits& waits) const;

  private:
    bool flush(Connection& connection);
    bool flush_messages(Connection& connection);
    [[gnu::noinline]] bool make_way(Connection& connection);
    // Credits that return with a packet. On links they never do: the packet may have to wait behind
    // one that is held until credits return, and those may be stuck behind a held packet at the
    // other end.
    static transport::CreditWord grants_for(Connection& connection) {
        return connection.link ? 0 : std::exchange(connection.owed, 0);
    }

    Commons& commons_;
    Connections& connections_;
    FaultHandler& faults_;
    std::vector<Connection*> backlog_;  // connections whose queues hold something
};

}  // namespace torusmp::core
