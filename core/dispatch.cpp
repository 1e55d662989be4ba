// Arrived packets: tokens, checks, order, and who handles what.
#include <fmt/format.h>

#include "core/runtime.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

namespace {

// How far ahead of its turn a packet may come. More in flight between two ranks than this is a
// peer gone mad.
constexpr std::uint32_t stash_window = 1u << 16;

}  // namespace

Verdict Runtime::on_packet(transport::Channel& channel, const PacketHeader& header,
                           const std::byte* payload) {
    auto& connection = *static_cast<Connection*>(channel.owner);
    const int slot_class = header.slot_class;
    if (connection.down) return Verdict::taken;
    if (slot_class >= connection.classes || header.source >= peers_.size() ||
        header.destination >= peers_.size()) [[unlikely]] {
        close(connection, Error::protocol, "a packet with a wrong class, source or destination");
        return Verdict::taken;
    }
    const auto class_bit = std::uint8_t(1u << slot_class);
    if ((connection.held & class_bit) == 0) [[likely]] {
        if (!transport::grants_fit(connection.tokens, header.grants, connection.all_tokens))
            [[unlikely]] {
            close(connection, Error::protocol, "more tokens given back than were taken");
            return Verdict::taken;
        }
        connection.tokens += header.grants;
        ++connection.statistics.packets_received;
        connection.statistics.bytes_received += header.length;
    }
    if (header.destination != std::uint32_t(options_.rank)) {
        const Verdict verdict = relay(connection, header, payload);
        if (verdict == Verdict::held) {
            connection.held |= class_bit;
            // The ring behind us may have no other bubble than the slots we owe.
            if (connection.owed != 0) {
                ++connection.statistics.grants_sent;
                connection.channel->grant(std::exchange(connection.owed, 0));
            }
            return verdict;
        }
        connection.held = std::uint8_t(connection.held & ~class_bit);
    } else if (!dispatch(connection, header, payload)) [[unlikely]] {
        Peer& source = peers_[header.source];
        const std::string what =
            fmt::format("a packet of kind {} from {} that the protocol does not allow", header.kind,
                        name_of(source.rank));
        if (source.rank == connection.peer) {
            close(connection, Error::protocol, what);
            return Verdict::taken;
        }
        // The neighbour may only have relayed it. The named source is to blame where its packets
        // do come this way; where not, nobody can tell, and the packet is dropped.
        if (source.comes_by == &connection) {
            tell_fault(fmt::format("{} is given up: {}", name_of(source.rank), what));
            fail_peer(source, Error::protocol, what);
        } else if (!connection.misled) {
            connection.misled = true;
            log(fmt::format("{} brought {}, which cannot come this way; dropped",
                            name_of(connection), what));
        }
    }
    if (!connection.down) slot_taken(connection, slot_class);
    return Verdict::taken;
}

bool Runtime::dispatch(Connection& connection, const PacketHeader& header,
                       const std::byte* payload) {
    Peer& peer = peers_[header.source];
    const auto kind = PacketKind(header.kind);
    if (kind == PacketKind::link_dead)
        return connection.peer == peer.rank && on_link_dead(connection, payload, header.length);
    if (peer.comes_by != &connection) [[unlikely]]
        if (!is_spread(kind) || !arrives_by(peer, connection)) return false;
    // Late packets of a peer that is given up: what they refer to has ended with an error, and a
    // message kept now would meet a later receive than its own.
    if (peer.dead) return true;
    if (!is_sequenced(kind)) return handle(peer, header, payload);
    if (header.sequence != peer.receive_sequence) [[unlikely]]
        return stash(peer, header, payload);
    ++peer.receive_sequence;
    return handle(peer, header, payload) && (peer.stash.empty() || deliver_stashed(peer));
}

bool Runtime::stash(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    const std::uint32_t ahead = header.sequence - peer.receive_sequence;
    if (ahead > stash_window) return false;
    return peer.stash
        .try_emplace(header.sequence,
                     Stashed{header, std::vector<std::byte>(payload, payload + header.length)})
        .second;
}

bool Runtime::deliver_stashed(Peer& peer) {
    for (auto next = peer.stash.find(peer.receive_sequence); next != peer.stash.end();
         next = peer.stash.find(peer.receive_sequence)) {
        const Stashed packet = std::move(next->second);
        peer.stash.erase(next);
        ++peer.receive_sequence;
        if (!handle(peer, packet.header, packet.payload.data())) return false;
    }
    return true;
}

bool Runtime::handle(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    switch (PacketKind(header.kind)) {
        case PacketKind::flow_eager:
            return on_flow_eager(peer, header, payload);
        case PacketKind::eager:
            return on_eager(peer, header, payload);
        case PacketKind::data:
            return on_data(peer, header, payload);
        case PacketKind::matched:
            return on_matched(peer, header, payload);
        case PacketKind::written:
            return on_written(peer, header, payload);
        case PacketKind::pulled:
            return on_pulled(peer, header, payload);
        case PacketKind::clear:
            return on_clear(peer, header, payload);
        case PacketKind::flow_ready:
            return on_flow_ready(peer, header, payload);
        case PacketKind::flow_request:
            return on_flow_request(peer, header, payload);
        case PacketKind::flow_open:
            return on_flow_open(peer, header, payload);
        case PacketKind::request:
            return on_request(peer, header, payload);
        case PacketKind::announce:
            return on_announce(peer, header, payload);
        case PacketKind::refuse:
            return on_refuse(peer, header, payload);
        case PacketKind::withdraw:
            return on_withdraw(peer, header, payload);
        case PacketKind::withdrawn:
            return on_withdrawn(peer, header, payload);
        case PacketKind::retract:
            return on_retract(peer, header, payload);
        case PacketKind::retracted:
            return on_retracted(peer, header, payload);
        case PacketKind::note:
            return on_note(peer, header, payload);
        case PacketKind::none:
        case PacketKind::link_dead:
            break;
    }
    return false;
}

}  // namespace torusmp::core
