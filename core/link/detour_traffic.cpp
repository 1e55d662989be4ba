// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/detour_traffic.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace torusmp::core {

using routing::Direction;
using transport::Channel;
using transport::ConstBytes;
using transport::PacketHeader;
using transport::Verdict;

void DetourTraffic::pump(LinkEnd& end) {
    // News on which LinkManager has not yet acted has ended the session.
    if (!end.sends_frames(states_.digest())) return;
    const auto path = states_.crossing(commons_.rank(), commons_.rank(), *end.connection().link);
    if (!path || !path->out) return;
    const LinkCarrier& out = carriers_[*path->out];
    Connection& connection = *out.connection;
    Channel* const cable = out.cable();
    if (cable == nullptr || connection.down()) return;
    while (sender_.has_credit(connection, virtual_channel_)) {
        PacketHeader header{};
        header.virtual_channel = std::uint8_t(virtual_channel_);
        if (!end.write_frame(*cable, header, commons_.options.body() + detour_room)) return;
        sender_.take_credit(connection, header);
        connection.statistics.count_relayed(header.length);
        cable->commit(header);
    }
}

// Frames of another state are dropped: their ends agree again when they receive the news, and then
// resend the contents.
Verdict DetourTraffic::take(Connection& in, const PacketHeader& header, const std::byte* payload) {
    DetourBody body;
    if (header.length < sizeof body || header.tag < 0 ||
        header.tag >= 2 * commons_.torus().link_dimensions()) {
        faults_.close(in, Error::protocol, "a truncated frame of a detour");
        return Verdict::taken;
    }
    std::memcpy(&body, payload, sizeof body);
    if (body.state != states_.digest()) return Verdict::taken;
    const auto direction = Direction::from_index(header.tag);
    const auto path = states_.crossing(commons_.rank(), Rank(header.source), direction);
    if (!path || !path->in || *path->in != *in.link ||
        commons_.torus().neighbour(Rank(header.source), direction) != Rank(header.destination)) {
        faults_.close(in, Error::protocol,
                      "a frame of a detour that does not pass through this rank");
        return Verdict::taken;
    }
    if (path->out) return pass_on(in, carriers_[*path->out], header, payload);
    LinkEnd* const end = carriers_.end_of(direction.opposite());
    if (end == nullptr || !end->takes_frames(body.state)) return Verdict::taken;
    const ConstBytes content{payload + sizeof body, header.length - sizeof body};
    if (!end->take_number(header.sequence) || !arrive(*end, body, content))
        faults_.close(end->connection(), Error::protocol,
                      "an invalid frame arrived over its detour");
    return Verdict::taken;
}

Verdict DetourTraffic::pass_on(Connection& in, LinkCarrier& out, const PacketHeader& header,
                               const std::byte* payload) {
    Connection& connection = *out.connection;
    Channel* const cable = out.cable();
    if (cable == nullptr || connection.down()) return Verdict::taken;
    if (!sender_.has_credit(connection, virtual_channel_)) return Verdict::held;
    TORUSMP_ASSERT(&connection != &in, commons_.rank(), in.peer, header.source, header.destination);
    PacketHeader onward = header;
    ++onward.hops;
    if (in.interface != connection.interface) onward.stamp = 0;
    connection.statistics.count_relayed(header.length);
    sender_.take_credit(connection, onward);
    cable->send(onward, {payload, header.length});
    return Verdict::taken;
}

bool DetourTraffic::arrive(LinkEnd& end, const DetourBody& body, ConstBytes content) {
    if (!end.take_granted(body.granted) || !end.confirm_writes(body.notices)) return false;
    commons_.stirred = true;
    switch (body.content) {
        case Detoured::nothing:
            return content.empty();
        case Detoured::packet:
        case Detoured::placed:
            return arrive_packet(end, content, body.content == Detoured::placed);
        case Detoured::piece:
            return arrive_piece(end, content);
    }
    return false;
}

// The packet has a credit of the link itself, so there is room for it if core does not take it.
bool DetourTraffic::arrive_packet(LinkEnd& end, ConstBytes content, bool placed) {
    PacketHeader header;
    PlacedBody place{};
    const std::size_t ahead = sizeof header + (placed ? sizeof place : 0);
    if (content.size() < ahead) return false;
    std::memcpy(&header, content.data(), sizeof header);
    if (placed) std::memcpy(&place, content.data() + sizeof header, sizeof place);
    content = content.subspan(ahead);
    if (content.size() != std::size_t(header.length) + place.bytes || header.grants != 0 ||
        header.virtual_channel >= end.connection().virtual_channels || placed != (place.bytes != 0))
        return false;
    const std::byte* const payload = content.data();
    if (placed) {
        const ConstBytes bytes = content.subspan(header.length);
        const transport::Bytes memory = end.connection().interface->place(
            {place.address, place.key}, std::uint32_t(end.connection().link->index()),
            bytes.size());
        if (!memory.empty()) std::copy(bytes.begin(), bytes.end(), memory.begin());
    }
    if (!end.deliver(sink_, header, payload)) return false;
    if (end.holds_packets()) commons_.errands |= Commons::links;
    return true;
}

bool DetourTraffic::arrive_piece(LinkEnd& end, ConstBytes content) {
    PieceBody body;
    if (content.size() < sizeof body) return false;
    std::memcpy(&body, content.data(), sizeof body);
    const ConstBytes bytes = content.subspan(sizeof body);
    // Ignores writes to memory that was exposed before and now is not.
    const transport::Bytes memory =
        end.connection().interface->registered(body.memory, body.offset, bytes.size());
    if (!memory.empty()) std::copy(bytes.begin(), bytes.end(), memory.begin());
    if (body.last == 0) return true;
    if (body.notifies != 0 || !end.can().notifies) end.count_write();
    if (body.notifies != 0) transfers_.on_notice(end.connection(), body.notice);
    return true;
}

}  // namespace torusmp::core
