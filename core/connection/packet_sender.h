// SPDX-License-Identifier: BSD-3-Clause
// Sends packets: credits, headers, and the queues of items that wait for credits.
//
// Used under the Runtime's lock.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/connection/connections.h"
#include "core/connection/fault_handler.h"
#include "core/connection/pieces.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class PacketSender {
  public:
    PacketSender(Commons& commons, Connections& connections, FaultHandler& faults)
        : commons_(commons), connections_(connections), faults_(faults) {}

    transport::PacketHeader header_to(const Peer& peer, PacketKind kind, std::size_t bytes) const;

    // Sends a small message of one block immediately and in one packet. Precondition: there is a
    // credit.
    void transmit_eager(Connection& connection, Peer& peer, std::uint32_t context, Tag tag,
                        transport::ConstBytes message) {
        TORUSMP_ASSERT(commons_.lock.held(), commons_.rank(), peer.rank);
        TORUSMP_ASSERT(connection.credits.granted(0) >= 1, commons_.rank(), peer.rank,
                       connection.peer, connection.credits.granted(), connection.credits.limit());
        TORUSMP_ASSERT(connection.messages.empty(), commons_.rank(), peer.rank, peer.send_sequence);
        TORUSMP_ASSERT(!peer.dead, commons_.rank(), peer.rank);
        const transport::PacketHeader header = transport::make_header(
            std::uint8_t(PacketKind::eager), message.size(), grants_for(connection),
            peer.send_sequence++, std::uint32_t(commons_.rank()), std::uint32_t(peer.rank), context,
            tag);
        connection.credits.take(0);
        ++connection.statistics.packets_sent;
        connection.statistics.bytes_sent += message.size();
        connection.channel->send(header, message);
    }

    // ---- immediate; precondition: there is a credit ----
    // Takes the credit and completes the header of a leaving packet.
    void take_credit(Connection& connection, transport::PacketHeader& header);
    void transmit(Connection& connection, transport::PacketHeader& header,
                  transport::ConstBytes payload);
    // Sends `prefix`, then bytes [from, from + bytes) of a message, which are packed on the way.
    void transmit_packed(Connection& connection, transport::PacketHeader& header,
                         transport::ConstBytes prefix, const Buffer& buffer, std::size_t from,
                         std::size_t bytes);
    void transmit_message(Connection& connection, transport::PacketHeader& header,
                          const Buffer& buffer);

    // ---- immediate or queued: a packet with a body of core's own ----
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

    // Resends a packet that already has its sequence number and was lost on another path.
    void send_again(Connection& connection, const transport::PacketHeader& header,
                    transport::ConstBytes body);

    // Whether a packet of this rank may leave immediately: nothing waits, and there is a credit.
    // Credits of a direct connection that have returned since the last poll are collected first, so
    // a caller that sends without polling queues only if the other end is really behind.
    bool may_leave(Connection& connection) {
        return (connection.messages.empty() && connection.credits.may_enter()) ||
               (!connection.link && make_way(connection));
    }

    // ---- queues ----
    enum class Queue { message, stream };
    void enqueue(Connection& connection, Outgoing& item, Queue queue);
    bool has_backlog() const { return !backlog_.empty(); }
    // Sends what the credits of all connections allow; returns true if something left.
    bool flush_backlog();
    // Drops all queued items of this connection; nothing leaves it any more.
    static void drop_queues(Connection& connection, Error error);

    // ---- credits of the opposite direction ----
    // Frees the slot of a packet. Its credit returns with the next packet of a direct connection,
    // or alone when half of the credits are owed or a piece of a large message has come.
    void slot_taken(Connection& connection, const transport::PacketHeader& header) {
        if (connection.credits.owe(header.virtual_channel) || pieces::returns(connection, header))
            give_owed(connection);
    }
    // Returns all owed credits now.
    void give_owed(Connection& connection);
    void collect_grants(Connection& connection);
    // Whether a packet may leave on that virtual channel; first collects credits if there are none.
    // Precondition: the connection is up.
    bool has_credit(Connection& connection, int virtual_channel) {
        TORUSMP_ASSERT(!connection.down(), commons_.rank(), connection.peer, virtual_channel);
        if (connection.credits.granted(virtual_channel) != 0) return true;
        collect_grants(connection);
        return !connection.down() && connection.credits.granted(virtual_channel) != 0;
    }

    bool idle() const;
    // True if all credits have returned; credits that a peer owes below its threshold count as
    // returned.
    bool credits_home() const;
    void report(Waits& waits) const;

  private:
    bool flush(Connection& connection);
    bool flush_messages(Connection& connection);
    [[gnu::noinline]] bool make_way(Connection& connection);
    // Credits to return with a packet. Links never do this: the packet may have to wait behind a
    // held one until credits return, and those may be stuck behind a held packet at the other end.
    static transport::CreditWord grants_for(Connection& connection) {
        return connection.link ? 0 : connection.credits.take_owed();
    }

    Commons& commons_;
    Connections& connections_;
    FaultHandler& faults_;
    std::vector<Connection*> backlog_;  // connections whose queues are not empty
};

}  // namespace torusmp::core
