// Receiver-announced remote writes for messages matched by tag (sender-side matching).
//
// A posted receive with a known source and tag sends its memory ahead; the sender's next matching
// message goes straight there. Both ends must agree which message takes which receive although
// messages and announcements cross on the way. They agree by counting:
//  - An announcement says how many messages of the sender the receiver had seen. The sender keeps
//    the last log_size (context, tag) it sent; a message behind that count which matches is on its
//    way to this very receive, so the announcement is void. Each such message voids one.
//  - Otherwise the announcement is held, and the next matching message takes the oldest: a large
//    one is written there, a small one travels whole and meets the same receive by order.
//  - This is right only while the receiver would match in the order it announced. So a receive is
//    announced only when no wildcard is posted and the receive before it with the same key, if any,
//    is announced too.
//  - When the log does not reach back far enough, the sender refuses: everything it holds is void,
//    and so is what is on its way, by epoch. The refusal takes its place in the sender's stream, so
//    the receiver knows which landings were used before it.
#include "core/runtime.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

constexpr std::uint32_t most_announced = 16;  // to one peer at a time
constexpr std::size_t most_held = 64;         // of one peer; more breaks the protocol

}  // namespace

bool Runtime::worth_announcing(const ReceiveRequest& request) {
    if (request.buffer_.bytes < options_.eager_limit || request.buffer_.bytes == 0 ||
        request.peer_ == any_source || request.tag_ == any_tag || request.peer_ == options_.rank ||
        matching_.wildcards_posted())
        return false;
    if (peers_[request.peer_].matching().announced >= most_announced) return false;
    const ReceiveRequest* before =
        matching_.last_posted(request.context_, request.peer_, request.tag_);
    return before == nullptr || before->announced_;
}

void Runtime::announce(ReceiveRequest& request) {
    Peer& peer = peers_[request.peer_];
    MatchState& match = peer.matching();
    const transport::RemoteMemory memory = open_landing(request, peer);
    request.announced_ = true;
    ++match.announced;
    send_body(
        peer, PacketKind::announce,
        AnnounceBody{request.landing_, match.epoch, match.seen, 0, request.buffer_.bytes, memory},
        request.context_, request.tag_);
}

std::optional<Announcement> Runtime::take_announcement(MatchState& match, Context context,
                                                       Tag tag) {
    for (auto a = match.held.begin(); a != match.held.end(); ++a) {
        if (a->context != context || a->tag != tag) continue;
        const Announcement found = *a;
        match.held.erase(a);
        return found;
    }
    return std::nullopt;
}

bool Runtime::on_announce(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    AnnounceBody body;
    if (header.tag < 0 || !read_body(header, payload, body)) return false;
    MatchState& match = peer.matching();
    if (body.epoch != match.held_epoch) return body.epoch < match.held_epoch;
    const std::uint32_t unseen = match.sent - body.seen;
    if (unseen > MatchState::log_size) {
        if (unseen > (1u << 31)) return false;  // claims to have seen what was never sent
        match.held.clear();
        ++match.held_epoch;
        send_body(peer, PacketKind::refuse, EpochBody{match.held_epoch, 0});
        return true;
    }
    for (std::uint32_t i = body.seen; i != match.sent; ++i) {
        MatchState::Sent& sent = match.log[i % MatchState::log_size];
        if (sent.taken || sent.context != header.context || sent.tag != header.tag) continue;
        sent.taken = true;
        return true;
    }
    if (match.held.size() >= most_held) return false;
    match.held.push_back({header.context, header.tag, body.landing, body.bytes, body.memory});
    return true;
}

bool Runtime::on_refuse(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    EpochBody body;
    if (!read_body(header, payload, body)) return false;
    MatchState& match = peer.matching();
    if (body.epoch != match.epoch + 1) return false;
    match.epoch = body.epoch;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.announced_ && request.peer_ == peer.rank) close_landing(request);
    });
    return true;
}

void Runtime::cancel(ReceiveRequest& request) {
    Guard guard(*this);
    if (request.complete() || !request.posted_ || request.flow_ != nullptr) return;
    if (request.announced_) {
        // The sender may be using the memory at this moment: it must give the announcement back.
        send_body(peers_[request.peer_], PacketKind::withdraw, LandingBody{request.landing_, 0});
        return settle_with_oneself(request);
    }
    matching_.remove(request);
    complete(request, Error::cancelled);
}

bool Runtime::on_withdraw(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    LandingBody body;
    if (!read_body(header, payload, body)) return false;
    MatchState& match = peer.matching();
    std::uint32_t found = 0;
    for (auto a = match.held.begin(); a != match.held.end(); ++a) {
        if (a->landing != body.landing) continue;
        match.held.erase(a);
        found = 1;
        break;
    }
    send_body(peer, PacketKind::withdrawn, WithdrawnBody{body.landing, found});
    return true;
}

bool Runtime::on_withdrawn(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    WithdrawnBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = landings_.find(body.landing);
    // Not found: the message that took it was ahead of this answer, or a refusal was.
    if (request == nullptr || request->peer_ != peer.rank || !request->posted_) return true;
    close_landing(*request);
    matching_.remove(*request);
    complete(*request, Error::cancelled);
    return true;
}

void Runtime::cancel(SendRequest& request) {
    Guard guard(*this);
    // What is on its way arrives; only what waits for a receive can still be taken back.
    if (request.complete() || request.stage_ != SendRequest::Stage::wait_answer ||
        request.flow_ != nullptr)
        return;
    request.retracting_ = true;
    send_body(peers_[request.peer_], PacketKind::retract, DepartureBody{request.departure_, 0});
    settle_with_oneself(request);
}

// A program that cancels a message to itself and finds it not cancelled goes on to meet it, so an
// answer that comes later would leave it waiting for what is gone. Nobody else is needed for it.
void Runtime::settle_with_oneself(const Request& request) {
    if (request.peer_ != options_.rank) return;
    do {
        loopback_->poll(*this);
        flush_backlog();
    } while (!request.complete() && !loopback_->empty());
    stirred_ = true;
}

// Not found: the message has met its receive, and our answer is on its way.
bool Runtime::on_retract(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    DepartureBody body;
    if (!read_body(header, payload, body)) return false;
    Unexpected* found = nullptr;
    matching_.for_each_unexpected([&](Unexpected& message) {
        if (message.is_request && message.source == peer.rank &&
            message.request.departure == body.departure)
            found = &message;
    });
    if (found == nullptr) return true;
    matching_.remove(*found);
    pool_.give(found, sizeof(Unexpected) + found->bytes);
    send_body(peer, PacketKind::retracted, body);
    return true;
}

bool Runtime::on_retracted(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    DepartureBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = departures_.find(body.departure);
    if (request == nullptr || !request->retracting_ ||
        take_answered(peer, body.departure) == nullptr)
        return false;
    finish_send(*request, Error::cancelled);
    return true;
}

}  // namespace torusmp::core
