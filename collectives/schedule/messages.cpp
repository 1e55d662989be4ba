// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/schedule/messages.h"

namespace torusmp::collectives {

void Messages::fail(core::Error error, Rank peer) {
    if (failed()) return;
    failure_.error = error;
    failure_.peer = peer;
    // A peer may be unreachable only because of another peer's failure.
    if (error == core::Error::unreachable)
        failure_.peer = group_->runtime().state().lost_in(group_->members()).value_or(peer);
}

void Messages::break_off(core::Error error, Rank peer, std::size_t found, std::size_t expected) {
    if (failed()) return;
    fail(error, peer);
    note_sizes(found, expected);
    failure_.to_report = true;
}

void Messages::note_sizes(std::size_t found, std::size_t expected) {
    failure_.found = found;
    failure_.expected = expected;
}

void Messages::fail_receive(const core::ReceiveRequest& request) {
    const core::Status& status = request.status();
    const bool size_alone =
        status.error == core::Error::none || status.error == core::Error::truncated;
    if (!size_alone) return fail(status.error, request.peer());
    const auto error = status.error == core::Error::none ? core::Error::mismatch : status.error;
    // The sizes of frames are independent of the sizes of the call.
    if (fit_ == Fit::framed) return break_off(error, request.peer());
    break_off(error, request.peer(), status.bytes, request.bytes());
}

void Messages::use_requests(std::size_t sends, std::size_t receives) {
    sends_.use(sends);
    receives_.use(receives);
}

void Messages::post_by(core::SendRequest& request, core::Buffer buffer,
                       routing::Direction direction, int stream) {
    if (const auto link = group_->link(direction)) {
        ++posts_;
        group_->runtime().send_by(request, buffer, *link, group_->context(), tag_of(stream));
    } else {
        post(request, buffer, group_->neighbour(direction), stream);
    }
}

bool Messages::take_back() {
    if (taken_back_) return false;
    taken_back_ = true;
    for (std::size_t i = 0; i < receives_.used; ++i)
        group_->runtime().cancel(receives_.requests[i]);
    // Later messages of this call may have left: a short one must not be taken for a long one that
    // does not come, by a member that does not know of the failure yet.
    for (std::size_t i = 0; i < sends_.used; ++i) group_->runtime().abandon(sends_.requests[i]);
    return true;
}

bool Messages::all_complete() const {
    for (std::size_t i = 0; i < receives_.used; ++i)
        if (!receives_.requests[i].complete()) return false;
    for (std::size_t i = 0; i < sends_.used; ++i)
        if (!sends_.requests[i].complete()) return false;
    return true;
}

void Messages::report(core::Waits::Collective& open) const {
    const auto add = [](const auto& batch, std::vector<Rank>& peers) {
        for (std::size_t i = 0; i < batch.used; ++i)
            if (!batch.requests[i].complete()) peers.push_back(batch.requests[i].peer());
    };
    if (awaited_ != core::any_source) open.receives_from.push_back(awaited_);
    add(receives_, open.receives_from);
    add(sends_, open.sends_to);
}

}  // namespace torusmp::collectives
