// SPDX-License-Identifier: BSD-3-Clause
// The path of dead links' frames: out of one end, past the ranks in between, into the other.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "core/link/link_manager.h"

namespace torusmp::core {

using routing::Direction;
using transport::Channel;
using transport::ConstBytes;
using transport::PacketHeader;
using transport::Verdict;

// ---- out ----

void LinkManager::pump(LinkEnd& end) {
    // News that settle() has not yet handled has ended the session.
    if (!end.agreed_ || end.closed_ || end.session_ != states_.digest()) return;
    const auto path = states_.crossing(commons_.rank(), commons_.rank(), *end.connection_.link);
    if (!path || !path->out) return;
    const Hop& out = *hop(*path->out);
    Channel* const cable = cable_of(out);
    if (cable == nullptr || out.connection->down()) return;
    while (has_credit(*out.connection, detour_vc_) && emit(end, *out.connection, *cable)) {
    }
}

// Sends one frame, if there is something to send. Precondition: there is a credit.
bool LinkManager::emit(LinkEnd& end, Connection& out, Channel& cable) {
    PacketHeader header{};
    for (int k = end.connection_.virtual_channels - 1; k >= 0; --k) {
        const unsigned unsent = end.unsent(k);
        if (unsent == 0) continue;
        TORUSMP_ASSERT(unsent <= end.connection_.credits.limit(k), commons_.rank(),
                       end.connection_.peer, k, unsent, end.emitted_);
        const Retained::Packet& packet = end.retained_.back(k, unsent);
        TORUSMP_ASSERT(packet.header.virtual_channel == k, commons_.rank(), end.connection_.peer, k,
                       packet.header.virtual_channel, packet.header.kind);
        const bool placed = packet.placed != 0;
        const std::size_t bytes = packet.header.length + packet.placed;
        std::byte* to =
            begin_frame(end, cable, header, placed ? Detoured::placed : Detoured::packet,
                        sizeof packet.header + (placed ? sizeof(PlacedBody) : 0) + bytes);
        std::memcpy(to, &packet.header, sizeof packet.header);
        to += sizeof packet.header;
        if (placed) {
            const PlacedBody body{packet.address, packet.key, packet.placed};
            std::memcpy(to, &body, sizeof body);
            to += sizeof body;
        }
        if (bytes != 0) std::memcpy(to, packet.payload, bytes);
        end.emitted_ = add_lanes(end.emitted_, transport::credit_of(k));
        end_frame(out, cable, header);
        return true;
    }
    TORUSMP_ASSERT(end.write_ <= end.writes_.size(), commons_.rank(), end.connection_.peer,
                   end.write_, end.writes_.size());
    if (end.write_ < end.writes_.size()) {
        const RetainedWrite& write = end.writes_[end.write_];
        const std::size_t most =
            commons_.options.body() + detour_room - sizeof(DetourBody) - sizeof(PieceBody);
        TORUSMP_ASSERT(end.written_ <= write.bytes(), commons_.rank(), end.connection_.peer,
                       end.written_, write.bytes(), end.write_);
        const std::size_t left = write.bytes() - end.written_;
        const std::size_t bytes = std::min(left, most);
        const PieceBody piece{write.remote, write.offset + end.written_, write.notice.value_or(0),
                              bytes == left ? 1u : 0u, write.notice ? 1u : 0u};
        std::byte* to = begin_frame(end, cable, header, Detoured::piece, sizeof piece + bytes);
        std::memcpy(to, &piece, sizeof piece);
        write.copy(end.written_, bytes, to + sizeof piece);
        end.written_ += bytes;
        if (bytes == left) {
            ++end.write_;
            end.written_ = 0;
        }
        end_frame(out, cable, header);
        return true;
    }
    if (!end.tell_) return false;
    begin_frame(end, cable, header, Detoured::nothing, 0);
    end_frame(out, cable, header);
    return true;
}

// Returns room for content of this many bytes, after the header that all frames have.
std::byte* LinkManager::begin_frame(LinkEnd& end, Channel& cable, PacketHeader& header,
                                    Detoured content, std::size_t bytes) {
    TORUSMP_ASSERT(end.agreed_ && end.session_ != 0 && !end.on_cable(), commons_.rank(),
                   end.connection_.peer, end.agreed_, end.session_);
    TORUSMP_ASSERT(sizeof(DetourBody) + bytes <= commons_.options.body() + detour_room,
                   commons_.rank(), end.connection_.peer, bytes, commons_.options.body());
    const DetourBody body{end.session_, end.granted_, end.notices_, content};
    end.tell_ = false;
    header.length = std::uint32_t(sizeof body + bytes);
    header.kind = std::uint8_t(LinkFrame::detour);
    header.virtual_channel = std::uint8_t(detour_vc_);
    header.source = std::uint32_t(commons_.rank());
    header.destination = std::uint32_t(end.connection_.peer);
    header.tag = end.connection_.link->index();
    header.sequence = end.number_++;
    std::byte* const to = cable.reserve(header.virtual_channel, header.length);
    std::memcpy(to, &body, sizeof body);
    return to + sizeof body;
}

void LinkManager::end_frame(Connection& out, Channel& cable, PacketHeader& header) {
    sender_.take_credit(out, header);
    out.statistics.count_relayed(header.length);
    cable.commit(header);
}

// ---- past, and in ----

// Frames of another state are dropped: their ends agree again when they receive the news, and then
// resend the contents.
Verdict LinkManager::take_detoured(Connection& in, const PacketHeader& header,
                                   const std::byte* payload) {
    DetourBody body;
    if (header.length < sizeof body || header.tag < 0 ||
        header.tag >= 2 * commons_.torus().dimensions()) {
        faults_.close(in, Error::protocol, "a truncated frame of a detour");
        return Verdict::taken;
    }
    std::memcpy(&body, payload, sizeof body);
    settle();
    if (body.state != states_.digest()) return Verdict::taken;
    const auto direction = Direction::from_index(header.tag);
    const auto path = states_.crossing(commons_.rank(), Rank(header.source), direction);
    if (!path || !path->in || *path->in != *in.link ||
        commons_.torus().neighbour(Rank(header.source), direction) != Rank(header.destination)) {
        faults_.close(in, Error::protocol,
                      "a frame of a detour that does not pass through this "
                      "rank");
        return Verdict::taken;
    }
    if (path->out) {
        const Hop& out = *hop(*path->out);
        Channel* const cable = cable_of(out);
        if (cable == nullptr || out.connection->down()) return Verdict::taken;
        if (!has_credit(*out.connection, detour_vc_)) return Verdict::held;
        TORUSMP_ASSERT(out.connection != &in, commons_.rank(), in.peer, header.source,
                       header.destination);
        PacketHeader onward = header;
        ++onward.hops;
        if (in.interface != out.connection->interface) onward.stamp = 0;
        out.connection->statistics.count_relayed(header.length);
        sender_.take_credit(*out.connection, onward);
        cable->send(onward, {payload, header.length});
        return Verdict::taken;
    }
    LinkEnd* const end = end_of(direction.opposite());
    if (end == nullptr || end->closed_ || end->session_ != body.state) return Verdict::taken;
    const ConstBytes content{payload + sizeof body, header.length - sizeof body};
    if (header.sequence != end->expected_++ || !arrive(*end, body, content))
        blame(*end, "an invalid frame arrived over its detour");
    return Verdict::taken;
}

bool LinkManager::arrive(LinkEnd& end, const DetourBody& body, ConstBytes content) {
    if (!end.take_granted(body.granted) || !confirm_writes(end, body.notices)) return false;
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
bool LinkManager::arrive_packet(LinkEnd& end, ConstBytes content, bool placed) {
    PacketHeader header;
    PlacedBody place{};
    const std::size_t ahead = sizeof header + (placed ? sizeof place : 0);
    if (content.size() < ahead) return false;
    std::memcpy(&header, content.data(), sizeof header);
    if (placed) std::memcpy(&place, content.data() + sizeof header, sizeof place);
    content = content.subspan(ahead);
    if (content.size() != std::size_t(header.length) + place.bytes || header.grants != 0 ||
        header.virtual_channel >= end.connection_.virtual_channels || placed != (place.bytes != 0))
        return false;
    const std::byte* const payload = content.data();
    if (placed) {
        const ConstBytes bytes = content.subspan(header.length);
        const transport::Bytes memory = end.connection_.interface->place(
            {place.address, place.key}, std::uint32_t(end.connection_.link->index()), bytes.size());
        if (!memory.empty()) std::copy(bytes.begin(), bytes.end(), memory.begin());
    }
    auto& held = end.held_[header.virtual_channel];
    if (held.empty() && sink_.on_packet(end, header, payload) == Verdict::taken) return true;
    if (held.size() >= end.connection_.credits.limit(header.virtual_channel)) return false;
    held.push_back({header, {payload, payload + header.length}});
    commons_.errands |= Commons::links;
    return true;
}

bool LinkManager::arrive_piece(LinkEnd& end, ConstBytes content) {
    PieceBody body;
    if (content.size() < sizeof body) return false;
    std::memcpy(&body, content.data(), sizeof body);
    const ConstBytes bytes = content.subspan(sizeof body);
    // Ignores writes to memory that is no longer exposed.
    const transport::Bytes memory =
        end.connection_.interface->registered(body.memory, body.offset, bytes.size());
    if (!memory.empty()) std::copy(bytes.begin(), bytes.end(), memory.begin());
    if (body.last == 0) return true;
    if (body.notifies != 0)
        on_notice(end, body.notice);
    else if (!end.can().notifies)
        count_write(end);
    return true;
}

// Offers core the packets that came by the detour and that core has held.
bool LinkManager::offer_held(LinkEnd& end) {
    bool moved = false;
    for (auto& held : end.held_)
        while (!held.empty()) {
            // Removed first, because core may close the link meanwhile.
            const LinkEnd::Held packet = std::move(held.front());
            held.pop_front();
            if (sink_.on_packet(end, packet.header, packet.payload.data()) == Verdict::held) {
                if (!end.closed_) held.push_front(packet);
                break;
            }
            moved = true;
        }
    return moved;
}

}  // namespace torusmp::core
