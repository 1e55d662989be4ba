// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/cancellation.h"

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;

void Cancellation::cancel(ReceiveRequest& request) {
    if (request.complete() && request.pending()) request.reopen();
    if (request.complete() || !request.posted() || request.flow_ != nullptr) return;
    if (request.announced_) {
        TORUSMP_ASSERT(receives_.find(request.receive_handle_) == &request, commons_.rank(),
                       request.peer_, request.receive_handle_);
        // The sender may be using the memory at this moment: it must return the announcement.
        sender_.send(connections_.peer(request.peer_), PacketKind::withdraw,
                     ReceiveHandleBody{request.receive_handle_, 0});
        return finish_with_oneself(request);
    }
    matching_.remove(request);
    commons_.complete(request, Error::cancelled);
}

void Cancellation::cancel_all(Context first, Context count) {
    const auto ours = [&](Context context) { return context - first < count; };
    std::vector<ReceiveRequest*> receives;
    std::vector<SendRequest*> sends;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (ours(request.context_)) receives.push_back(&request);
    });
    sends_.for_each([&](SendRequest& request) {
        if (request.flow_ == nullptr && ours(request.context_) &&
            request.stage() != SendRequest::Stage::retracting)
            sends.push_back(&request);
    });
    for (ReceiveRequest* request : receives) cancel(*request);
    for (SendRequest* request : sends) abandon(*request);
    commons_.stirred = true;
}

bool Cancellation::on_withdraw(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    ReceiveHandleBody body;
    if (!read_body(header, payload, body)) return false;
    MatchState& match = states_[peer.rank];
    std::uint32_t found = 0;
    for (auto a = match.held.begin(); a != match.held.end(); ++a) {
        if (a->receive_handle != body.receive_handle) continue;
        match.held.erase(a);
        found = 1;
        break;
    }
    sender_.send(peer, PacketKind::withdrawn, WithdrawnBody{body.receive_handle, found});
    return true;
}

bool Cancellation::on_withdrawn(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    WithdrawnBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = receives_.find(body.receive_handle);
    // If it is not found, the message that took it, or a refusal, arrived before this answer.
    if (request == nullptr || request->peer_ != peer.rank || !request->posted()) return true;
    receives_.close(*request);
    matching_.remove(*request);
    commons_.complete(*request, Error::cancelled);
    return true;
}

void Cancellation::cancel(SendRequest& request) {
    retract(request, false);
}

void Cancellation::abandon(SendRequest& request) {
    retract(request, true);
}

void Cancellation::retract(SendRequest& request, bool abandoned) {
    // Messages in flight will arrive; only a send that waits for a receive can be cancelled.
    if (request.complete() || request.stage() != SendRequest::Stage::wait_answer ||
        request.flow_ != nullptr)
        return;
    TORUSMP_ASSERT(sends_.find(request.send_handle_) == &request, commons_.rank(), request.peer_,
                   request.send_handle_, request.stage());
    request.become(SendRequest::Stage::retracting, commons_.rank());
    sender_.send(connections_.peer(request.peer_), PacketKind::retract,
                 RetractBody{request.send_handle_, abandoned ? 1u : 0u});
    finish_with_oneself(request);
}

// A program that cancels a message to itself, and finds it not cancelled, goes on to receive it, so
// a later answer would leave it waiting for a message that is gone. No other rank is needed to
// decide.
void Cancellation::finish_with_oneself(const Request& request) {
    if (request.peer_ != commons_.rank()) return;
    Loopback& loopback = connections_.loopback();
    do {
        loopback.poll(sink_);
        sender_.flush_backlog();
    } while (!request.complete() && !loopback.empty());
}

// If it is not found, the message has matched its receive, and our answer is on its way.
bool Cancellation::on_retract(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RetractBody body;
    if (!read_body(header, payload, body) || body.abandoned > 1) return false;
    Unexpected* found = nullptr;
    matching_.for_each_unexpected([&](Unexpected& message) {
        if (message.is_request && !message.abandoned && message.source == peer.rank &&
            message.request().send_handle == body.send_handle)
            found = &message;
    });
    if (found == nullptr) return true;
    if (body.abandoned != 0) {
        found->abandoned = true;
    } else {
        matching_.remove(*found);
        store_.give_back(*found);
    }
    sender_.send(peer, PacketKind::retracted, SendHandleBody{body.send_handle, 0});
    return true;
}

bool Cancellation::on_retracted(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    SendHandleBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = sends_.find(body.send_handle);
    if (request == nullptr || request->stage() != SendRequest::Stage::retracting ||
        sends_.take_answered(peer, body.send_handle) == nullptr)
        return false;
    sends_.finish(*request, Error::cancelled);
    return true;
}

}  // namespace torusmp::core
