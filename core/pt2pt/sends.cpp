// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/sends.h"

#include <utility>

#include "base/assert.h"
#include "core/pt2pt/rail.h"

namespace torusmp::core {
namespace {

void stop_waiting(SendRequest& request) {
    if (request.flow_ != nullptr) request.flow_->stop_waiting(request);
}

}  // namespace

SendRequest* Sends::take_answered(const Peer& peer, std::uint32_t send_handle) {
    SendRequest* request = send_handles_.find(send_handle);
    if (request == nullptr || request->peer_ != peer.rank || !request->awaits_answer())
        return nullptr;
    stop_waiting(*request);
    return request;
}

void Sends::finish(SendRequest& request, Error error) {
    TORUSMP_ASSERT(request.send_handle_ == 0 || find(request.send_handle_) == &request,
                   commons_.rank(), request.peer_, request.send_handle_, request.stage(), error);
    TORUSMP_ASSERT(error != Error::none || request.stage() != SendRequest::Stage::stream ||
                       request.position_ == request.buffer_.bytes,
                   commons_.rank(), request.peer_, request.position_, request.buffer_.bytes);
    if (request.send_handle_ != 0) {
        send_handles_.remove(request.send_handle_);
        request.send_handle_ = 0;
    }
    if (request.rails_ != nullptr) Rail::forget(request);
    if (request.exposed_at_ != nullptr)
        std::exchange(request.exposed_at_, nullptr)->deregister_memory(request.exposed_);
    request.become(SendRequest::Stage::idle);
    commons_.complete(request, error);
}

void Sends::peer_lost(Peer& peer, Error error) {
    std::vector<SendRequest*> lost;
    const bool cables_live = connections_.reaches(peer);
    send_handles_.for_each([&](SendRequest& request) {
        // A stream is in a queue, and ends in its turn.
        if (request.peer_ != peer.rank || request.stage() == SendRequest::Stage::stream) return;
        if (request.stage() == SendRequest::Stage::writing && cables_live) return;
        lost.push_back(&request);
    });
    for (SendRequest* request : lost) {
        stop_waiting(*request);
        finish(*request, error);
    }
}

void Sends::report(Waits& waits) const {
    send_handles_.for_each([&](const SendRequest& r) {
        const bool asked = r.awaits_answer();
        waits.add(Waits::Operation{
            .kind = Waits::Operation::Kind::send,
            .stage = asked ? Waits::Operation::Stage::unmet : Waits::Operation::Stage::moving,
            .channel = r.flow_ != nullptr,
            .peer = r.peer_,
            .context = r.flow_ != nullptr ? r.flow_->key.context : r.context_,
            .tag = r.tag_,
            .bytes = r.buffer_.bytes,
            .done = r.position_,
            .id = static_cast<const Request*>(&r)});
    });
}

}  // namespace torusmp::core
