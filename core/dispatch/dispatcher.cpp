// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/dispatcher.h"

#include <fmt/format.h>

#include <utility>

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

namespace {

Connection& connection_of(const transport::Channel& channel) {
    return *static_cast<Connection*>(channel.owner);
}

// Negative if the packet was taken before.
std::int32_t turns_ahead(const Peer& peer, const PacketHeader& header) {
    return std::int32_t(header.sequence - peer.receive_sequence);
}

}  // namespace

// Every packet for this rank passes these two functions, inlined into on_packet().
[[gnu::always_inline]] inline bool Dispatcher::take(Peer& peer, const PacketHeader& header,
                                                    const std::byte* payload) {
    if (header.kind >= handlers_.size()) return false;
    const Handler& handler = handlers_[header.kind];
    return handler.take != nullptr && handler.take(handler.module, peer, header, payload);
}

// Takes the packet whose turn it is, and those after it that arrived early.
[[gnu::always_inline]] inline bool Dispatcher::take_next(Peer& peer, const PacketHeader& header,
                                                         const std::byte* payload) {
    TORUSMP_ASSERT(header.sequence == peer.receive_sequence, commons_.rank(), peer.rank,
                   header.kind, header.sequence, peer.receive_sequence);
    ++peer.receive_sequence;
    return take(peer, header, payload) && (early_.empty() || take_early(peer));
}

// Packets that the sender of a lost shortcut did not know to be taken arrive a second time.
bool Dispatcher::take_unordered(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    return early_.keep(peer, header, payload) ||
           (peer.shortcut_after != 0 && turns_ahead(peer, header) < 0);
}

// Takes the credits that return with a packet, and counts the packet. Returns false if the credits
// are impossible.
[[gnu::always_inline]] inline bool Dispatcher::note_arrival(Connection& connection,
                                                            const PacketHeader& header) {
    if (header.grants != 0) {
        if (!connection.credits.give_back_with_packet(header.grants)) [[unlikely]] {
            faults_.close(connection, Error::protocol, "more credits returned than were taken");
            return false;
        }
    }
    ++connection.statistics.packets_received;
    connection.statistics.bytes_received += header.length;
    return true;
}

[[gnu::always_inline]] inline bool Dispatcher::dispatch(Connection& connection,
                                                        const PacketHeader& header,
                                                        const std::byte* payload) {
    Peer& peer = connections_.peer(Rank(header.source));
    const auto kind = PacketKind(header.kind);
    if (kind == PacketKind::link_dead) [[unlikely]]
        return connection.peer == peer.rank &&
               faults_.on_link_dead(connection, payload, header.length);
    if (peer.comes_by != &connection) [[unlikely]] {
        if (peer.comes_by != nullptr && peer.comes_by->far != nullptr && connection.link)
            return take_far(*peer.comes_by->far, header, payload);
        if (!is_spread(kind) || !connections_.arrives_by(peer, connection)) return false;
    }
    // Drops late packets of a peer that was given up: their requests have ended with an error, and
    // a message kept now would match a later receive than its own.
    if (peer.dead) return true;
    if (!is_sequenced(kind)) return take(peer, header, payload);
    if (header.sequence != peer.receive_sequence) [[unlikely]]
        return take_unordered(peer, header, payload);
    return take_next(peer, header, payload);
}

// A packet of a rank beyond the links, in a job that continues after deaths: opens its envelope.
bool Dispatcher::take_far(FarEnd& end, const PacketHeader& packet, const std::byte* payload) {
    Connection& connection = end.connection();
    Envelope envelope;
    if (connection.down()) return true;
    if (!read_envelope(packet, payload, envelope) || !end.confirm(envelope.taken)) return false;
    PacketHeader header = packet;
    header.length -= std::uint32_t(sizeof envelope);
    header.virtual_channel = 0;
    if (PacketKind(header.kind) == PacketKind::receipt) return header.length == 0;
    const FarEnd::Turn turn = end.take(envelope.number);
    if (turn != FarEnd::Turn::next) return turn == FarEnd::Turn::again;
    if (!note_arrival(connection, header) || !dispatch(connection, header, payload)) return false;
    if (!connection.down()) sender_.slot_taken(connection, header);
    return true;
}

Verdict Dispatcher::on_packet(transport::Channel& channel, const PacketHeader& header,
                              const std::byte* payload) {
    Connection& connection = connection_of(channel);
    const int virtual_channel = header.virtual_channel;
    TORUSMP_ASSERT(commons_.lock.held(), self_, connection.peer, header.kind);
    TORUSMP_ASSERT(connection.credits.hold_invariant(), self_, connection.peer,
                   connection.credits.granted(), connection.credits.owed(),
                   connection.credits.limit());
    if (connection.down()) [[unlikely]] {
        if (connection.end != nullptr)
            links_.on_late_packet(*connection.end, channel, header, payload);
        return Verdict::taken;
    }
    if (virtual_channel >= connection.virtual_channels || header.source >= ranks_ ||
        header.destination >= ranks_) [[unlikely]] {
        if (connection.shortcut != nullptr) return on_shortcut_packet(connection, header, payload);
        if (links_.carries(connection, virtual_channel) && header.source < ranks_ &&
            header.destination < ranks_)
            return on_link_packet(connection, channel, header, payload);
        faults_.close(connection, Error::protocol,
                      "a packet with a wrong virtual channel, source or destination");
        return Verdict::taken;
    }
    if (!connection.held.on(virtual_channel)) [[likely]]
        if (!note_arrival(connection, header)) [[unlikely]]
            return Verdict::taken;
    if (header.destination != self_) {
        if (relay_.pass_on(connection, header, payload) == Verdict::held) {
            connection.held.hold(virtual_channel);
            // The ring behind this rank may have no other bubble than the slots we owe.
            if (connection.credits.owed() != 0) sender_.give_owed(connection);
            return Verdict::held;
        }
        connection.held.release(virtual_channel);
    } else if (!dispatch(connection, header, payload)) [[unlikely]] {
        refuse(connection, header);
    }
    if (!connection.down()) sender_.slot_taken(connection, header);
    return Verdict::taken;
}

// Handles packets of the virtual channels after those of messages. Afterwards the cable may no
// longer be in use.
Verdict Dispatcher::on_link_packet(Connection& connection, const transport::Channel& channel,
                                   const PacketHeader& header, const std::byte* payload) {
    const Verdict verdict = links_.on_packet(connection, channel, header, payload);
    if (verdict == Verdict::held) {
        connection.held.hold(header.virtual_channel);
        if (connection.credits.owed() != 0) sender_.give_owed(connection);
        return verdict;
    }
    connection.held.release(header.virtual_channel);
    if (!connection.down() && links_.in_use(connection, channel))
        sender_.slot_taken(connection, header);
    return verdict;
}

// A packet before its turn waits in its slot: those ahead of it arrive by relay, however long that
// takes, and meanwhile its sender sends at most as many packets as there are slots.
Verdict Dispatcher::on_shortcut_packet(Connection& connection, const PacketHeader& header,
                                       const std::byte* payload) {
    if (header.virtual_channel != 0 || header.source != std::uint32_t(connection.peer) ||
        header.destination != self_ || !is_sequenced(PacketKind(header.kind))) {
        faults_.close(connection, Error::protocol, "a packet that does not take a shortcut");
        return Verdict::taken;
    }
    if (!connection.held.any() && !note_arrival(connection, header)) return Verdict::taken;
    Peer& peer = connections_.peer(connection.peer);
    const std::int32_t ahead = turns_ahead(peer, header);
    if (ahead > 0 && !peer.dead) {
        connection.held.hold(0);
        return Verdict::held;
    }
    connection.held.release(0);
    shortcuts_.touch(connection);
    if (ahead == 0 && !peer.dead && !take_next(peer, header, payload)) refuse(connection, header);
    if (!connection.down()) sender_.slot_taken(connection, header);
    return Verdict::taken;
}

bool Dispatcher::take_early(Peer& peer) {
    while (const auto packet = early_.take_next(peer)) {
        TORUSMP_ASSERT(packet->header.sequence == peer.receive_sequence, self_, peer.rank,
                       packet->header.sequence, peer.receive_sequence);
        ++peer.receive_sequence;
        if (!take(peer, packet->header, packet->payload.data())) return false;
    }
    return true;
}

// Handles a packet for this rank that violates the protocol.
void Dispatcher::refuse(Connection& connection, const PacketHeader& header) {
    Peer& source = connections_.peer(Rank(header.source));
    const std::string what =
        fmt::format("a packet of kind {} from {} that the protocol does not allow", header.kind,
                    commons_.name_of(source.rank));
    // The neighbour may only have relayed the packet. The named source is to blame if its packets
    // do arrive on this path; otherwise the culprit is unknown, and the packet is dropped.
    if (source.rank == connection.peer) {
        faults_.close(connection, Error::protocol, what);
    } else if (source.comes_by == &connection ||
               (source.comes_by != nullptr && source.comes_by->far != nullptr)) {
        faults_.tell_fault(fmt::format("{} is given up: {}", commons_.name_of(source.rank), what));
        faults_.lose(source, Error::protocol, what);
    } else if (!connection.misled) {
        connection.misled = true;
        commons_.log(fmt::format("{} received {}, which is not valid there; dropped",
                                 commons_.name_of(connection), what));
    }
}

void Dispatcher::on_notice(transport::Channel& channel, std::uint64_t notice) {
    commons_.stirred = true;
    Connection& connection = connection_of(channel);
    if (connection.end != nullptr)
        links_.on_notice(*connection.end, notice);
    else
        transfers_.on_notice(connection, notice);
}

void Dispatcher::on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) {
    commons_.stirred = true;
    Connection& connection = connection_of(channel);
    if (connection.end != nullptr)
        links_.on_transfer(*connection.end, channel, cookie, ok);
    else
        transfers_.on_transfer_end(connection, cookie, ok);
}

void Dispatcher::on_connect(std::uint32_t port) {
    if (connections_.answer(port)) commons_.stirred = true;
}

void Dispatcher::on_down(transport::Channel& channel, std::string_view why) {
    commons_.stirred = true;
    Connection& connection = connection_of(channel);
    if (connection.end != nullptr)
        links_.on_down(*connection.end, channel, why);
    else if (connection.shortcut != nullptr)
        shortcuts_.on_down(*connection.shortcut, channel);
    else
        faults_.close(connection, Error::unreachable, why);
}

void Dispatcher::report(Waits& waits) const {
    for (const Peer& peer : std::as_const(connections_).peers())
        if (peer.rank != commons_.rank() && (peer.send_sequence | peer.receive_sequence) != 0)
            waits.traffic.push_back({peer.rank, peer.send_sequence, peer.receive_sequence});
    if (early_.empty()) return;
    for (const Peer& peer : std::as_const(connections_).peers())
        if (const std::size_t count = early_.waiting(peer); count != 0)
            waits.notes.push_back(fmt::format("{} early packets of {}: number {} is missing", count,
                                              commons_.name_of(peer.rank), peer.receive_sequence));
}

}  // namespace torusmp::core
