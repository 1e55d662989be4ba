// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/announcements.h"

#include "base/assert.h"
#include "base/trace.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

constexpr std::uint32_t most_announced = 16;  // to one peer at a time
constexpr std::size_t most_held = 64;         // from one peer; more than this violates the protocol

}  // namespace

bool Announcements::worth_it(const ReceiveRequest& request) {
    if (request.buffer_.bytes == 0 || request.peer_ == any_source || request.tag_ == any_tag ||
        request.peer_ == commons_.rank() || matching_.wildcards_posted())
        return false;
    if (states_[request.peer_].announced >= most_announced) return false;
    const ReceiveRequest* before =
        matching_.last_posted(request.context_, request.peer_, request.tag_);
    return before == nullptr || before->announced_;
}

bool Announcements::may_be_stored(const ReceiveRequest& request) {
    if (request.peer_ == any_source || request.peer_ == commons_.rank()) return false;
    const Connection& connection = connections_.to(connections_.peer(request.peer_));
    return connection.peer == request.peer_ && connection.interface != nullptr &&
           connection.interface->can().maps;
}

void Announcements::announce(ReceiveRequest& request) {
    Peer& peer = connections_.peer(request.peer_);
    MatchState& match = states_[peer.rank];
    const transport::RemoteMemory memory = receives_.open(request, peer);
    TORUSMP_ASSERT(request.posted() && match.announced < most_announced, commons_.rank(), peer.rank,
                   request.posted(), match.announced);
    if (commons_.options.is_eager(request.buffer_.bytes) &&
        (request.exposed_at_ == nullptr || !request.exposed_at_->is_mapped(memory)))
        return receives_.close(request);
    request.announced_ = true;
    ++match.announced;
    TORUSMP_TRACE(message, debug, commons_.rank(),
                  "receive {} of {} B from {}, tag {}: is announced", request.receive_handle_,
                  request.buffer_.bytes, peer.rank, request.tag_);
    sender_.send(peer, PacketKind::rtr,
                 RtrBody{request.receive_handle_, match.epoch, match.seen,
                         receives_.converging() ? 1u : 0u, request.buffer_.bytes, memory},
                 request.context_, request.tag_);
}

std::optional<Announcement> Announcements::take_held(MatchState& match, Context context, Tag tag) {
    for (auto a = match.held.begin(); a != match.held.end(); ++a) {
        if (a->context != context || a->tag != tag) continue;
        const Announcement found = *a;
        match.held.erase(a);
        return found;
    }
    return std::nullopt;
}

bool Announcements::on_rtr(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RtrBody body;
    if (header.tag < 0 || !read_body(header, payload, body)) return false;
    MatchState& match = states_[peer.rank];
    if (body.epoch != match.held_epoch) return body.epoch < match.held_epoch;
    const std::uint32_t unseen = match.sent - body.seen;
    if (unseen > MatchState::log_size) {
        // It claims to have seen messages that were never sent.
        if (unseen > (1u << 31)) return false;
        match.held.clear();
        ++match.held_epoch;
        sender_.send(peer, PacketKind::refuse, EpochBody{match.held_epoch, 0});
        return true;
    }
    for (std::uint32_t i = body.seen; i != match.sent; ++i) {
        MatchState::Sent& sent = match.log[i % MatchState::log_size];
        if (sent.taken || sent.context != header.context || sent.tag != header.tag) continue;
        sent.taken = true;
        match.crossed = true;
        return true;
    }
    TORUSMP_ASSERT(match.held.size() <= most_held, commons_.rank(), peer.rank, match.held.size());
    if (match.held.size() >= most_held) return false;
    match.held.push_back({header.context, header.tag, body.receive_handle, body.bytes, body.memory,
                          body.converging != 0});
    return true;
}

bool Announcements::on_refuse(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    EpochBody body;
    if (!read_body(header, payload, body)) return false;
    MatchState& match = states_[peer.rank];
    if (body.epoch != match.epoch + 1) return false;
    match.epoch = body.epoch;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.announced_ && request.peer_ == peer.rank) receives_.close(request);
    });
    return true;
}

}  // namespace torusmp::core
