// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/dispatcher.h"

#include <fmt/format.h>

#include <utility>

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

namespace {

Connection& connection_of(const transport::Channel& channel) {
    return *static_cast<Connection*>(channel.owner);
}

}  // namespace

// Every packet for this rank comes through these two, as part of on_packet().
[[gnu::always_inline]] inline bool Dispatcher::take(Peer& peer, const PacketHeader& header,
                                                    const std::byte* payload) {
    if (header.kind >= handlers_.size()) return false;
    const Handler& handler = handlers_[header.kind];
    return handler.take != nullptr && handler.take(handler.module, peer, header, payload);
}

[[gnu::always_inline]] inline bool Dispatcher::dispatch(Connection& connection,
                                                        const PacketHeader& header,
                                                        const std::byte* payload) {
    Peer& peer = connections_.peer(Rank(header.source));
    const auto kind = PacketKind(header.kind);
    if (kind == PacketKind::link_dead) [[unlikely]]
        return connection.peer == peer.rank &&
               faults_.on_link_dead(connection, payload, header.length);
    if (peer.comes_by != &connection) [[unlikely]]
        if (!is_spread(kind) || !connections_.arrives_by(peer, connection)) return false;
    // Late packets of a peer that was given up: what they refer to has ended with an error, and a
    // message kept now would match a later receive than its own.
    if (peer.dead) return true;
    if (!is_sequenced(kind)) return take(peer, header, payload);
    if (header.sequence != peer.receive_sequence) [[unlikely]]
        return early_.keep(peer, header, payload);
    ++peer.receive_sequence;
    return take(peer, header, payload) && (early_.empty() || take_early(peer));
}

Verdict Dispatcher::on_packet(transport::Channel& channel, const PacketHeader& header,
                              const std::byte* payload) {
    Connection& connection = connection_of(channel);
    const int virtual_channel = header.virtual_channel;
    if (connection.down) return Verdict::taken;
    if (virtual_channel >= connection.virtual_channels || header.source >= ranks_ ||
        header.destination >= ranks_) [[unlikely]] {
        if (links_.carries(connection, virtual_channel) && header.source < ranks_ &&
            header.destination < ranks_)
            return on_link_packet(connection, channel, header, payload);
        faults_.close(connection, Error::protocol,
                      "a packet with a wrong virtual channel, source or destination");
        return Verdict::taken;
    }
    const auto bit = std::uint8_t(1u << virtual_channel);
    if ((connection.held & bit) == 0) [[likely]] {
        if (header.grants != 0) {
            if (!transport::grants_fit(connection.credits, header.grants, connection.all_credits))
                [[unlikely]] {
                faults_.close(connection, Error::protocol,
                              "more credits given back than were taken");
                return Verdict::taken;
            }
            connection.credits += header.grants;
        }
        ++connection.statistics.packets_received;
        connection.statistics.bytes_received += header.length;
    }
    if (header.destination != self_) {
        if (relay_.pass_on(connection, header, payload) == Verdict::held) {
            connection.held |= bit;
            // The ring behind us may have no other bubble than the slots we owe.
            if (connection.owed != 0) sender_.give_owed(connection);
            return Verdict::held;
        }
        connection.held = std::uint8_t(connection.held & ~bit);
    } else if (!dispatch(connection, header, payload)) [[unlikely]] {
        refuse(connection, header);
    }
    if (!connection.down) sender_.slot_taken(connection, virtual_channel);
    return Verdict::taken;
}

// Of the virtual channels behind those of messages. What comes of it may be that the cable is in
// use no more.
Verdict Dispatcher::on_link_packet(Connection& connection, const transport::Channel& channel,
                                   const PacketHeader& header, const std::byte* payload) {
    const auto bit = std::uint8_t(1u << header.virtual_channel);
    const Verdict verdict = links_.on_packet(connection, channel, header, payload);
    if (verdict == Verdict::held) {
        connection.held |= bit;
        if (connection.owed != 0) sender_.give_owed(connection);
        return verdict;
    }
    connection.held = std::uint8_t(connection.held & ~bit);
    if (!connection.down && links_.in_use(connection, channel))
        sender_.slot_taken(connection, header.virtual_channel);
    return verdict;
}

bool Dispatcher::take_early(Peer& peer) {
    while (const auto packet = early_.take_next(peer)) {
        ++peer.receive_sequence;
        if (!take(peer, packet->header, packet->payload.data())) return false;
    }
    return true;
}

// A packet for us that the protocol does not allow.
void Dispatcher::refuse(Connection& connection, const PacketHeader& header) {
    Peer& source = connections_.peer(Rank(header.source));
    const std::string what =
        fmt::format("a packet of kind {} from {} that the protocol does not allow", header.kind,
                    commons_.name_of(source.rank));
    // The neighbour may only have relayed it. The named source is to blame if its packets do come
    // this way; if not, nobody can tell, and the packet is dropped.
    if (source.rank == connection.peer) {
        faults_.close(connection, Error::protocol, what);
    } else if (source.comes_by == &connection) {
        faults_.tell_fault(fmt::format("{} is given up: {}", commons_.name_of(source.rank), what));
        faults_.lose(source, Error::protocol, what);
    } else if (!connection.misled) {
        connection.misled = true;
        commons_.log(fmt::format("{} brought {}, which cannot come this way; dropped",
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
        transfers_.on_transfer(connection, cookie, ok);
}

void Dispatcher::on_connect(std::uint32_t port) {
    if (connections_.answer(port)) commons_.stirred = true;
}

void Dispatcher::on_down(transport::Channel& channel, std::string_view why) {
    commons_.stirred = true;
    Connection& connection = connection_of(channel);
    if (connection.end != nullptr)
        links_.on_down(*connection.end, channel, why);
    else
        faults_.close(connection, Error::unreachable, why);
}

void Dispatcher::report(std::string& text) const {
    if (early_.empty()) return;
    for (const Peer& peer : std::as_const(connections_).peers())
        if (const std::size_t count = early_.waiting(peer); count != 0)
            text += fmt::format(
                "  {} packets of {} that came before their turn: number {} is missing\n", count,
                commons_.name_of(peer.rank), peer.receive_sequence);
}

}  // namespace torusmp::core
