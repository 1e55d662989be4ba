// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma/bulk.h"

#include "base/assert.h"
#include "core/rma/asked.h"
#include "core/rma/outlet.h"

namespace torusmp::core::rma {
namespace {

// Two ranks may access each other under the same id.
Tag tag_of(std::uint32_t id, bool origin_sends) {
    return Tag((id << 1 & 0x7fffffffu) | (origin_sends ? 1u : 0u));
}

}  // namespace

bool Windows::Bulk::takes(const Operation& operation) const {
    const Place& place = operation.place;
    return (operation.action == Action::put || operation.action == Action::get) &&
           place.layout == nullptr && place.bytes >= windows_.commons_.options.spread_limit &&
           !operation.window_->dynamic;
}

void Windows::Bulk::begin(Operation& operation) {
    const Window& window = *operation.window_;
    const bool sends = operation.action == Action::put_message;
    operation.moving_ = true;
    start(&operation, {}, windows_.connections_.peer(operation.peer()), sends,
          sends ? operation.data : operation.result, window.context, operation.id_);
}

bool Windows::Bulk::serve(const Asked& asked) {
    const PieceBody& piece = asked.pieces[0];
    const bool sends = asked.body.action == Action::get_message;
    std::byte* const memory =
        asked.body.pieces == 1 ? asked.window.own(piece.at, piece.bytes) : nullptr;
    if (memory == nullptr || asked.window.dynamic || piece.bytes == 0) return false;
    if (asked.window.revoked) {
        // The origin's revocation cancels its end of the message.
        if (!sends) windows_.answer(asked.peer, asked.dealings(), asked.body.operation);
        return true;
    }
    if (!sends && asked.dealings().arriving++ == most_unanswered) return false;
    ++asked.window.served;
    start(nullptr, asked.body, asked.peer, sends, {memory, std::size_t(piece.bytes)},
          asked.window.context, asked.body.operation);
    return true;
}

void Windows::Bulk::start(Operation* operation, const AskBody& asked, Peer& peer, bool sends,
                          const Buffer& buffer, Context context, std::uint32_t id) {
    if (free_.empty()) {
        free_.push_back(&all_.emplace_back());
        free_.reserve(all_.size());
    }
    Message& message = *free_.back();
    free_.pop_back();
    message.operation = operation;
    message.asked = asked;
    message.peer = &peer;
    message.sends = sends;
    const Tag tag = tag_of(id, sends == (operation != nullptr));
    if (sends)
        messages_.send(message.send, buffer, peer.rank, nullptr, context, tag, SendMode::standard);
    else
        messages_.receive(message.receive, buffer, peer.rank, context, tag);
    moving_.push_back(&message);
    if (listed_) {
        windows_.commons_.stirred |= message.request().complete();
        return;
    }
    listed_ = true;
    windows_.progress_.add_task(*this);
}

bool Windows::Bulk::advance() {
    for (std::size_t i = 0; i < moving_.size();) {
        Message& message = *moving_[i];
        if (!message.request().complete()) {
            ++i;
            continue;
        }
        moving_[i] = moving_.back();
        moving_.pop_back();
        end(message);  // may start others
        free_.push_back(&message);
    }
    listed_ = !moving_.empty();
    return !listed_;
}

void Windows::Bulk::end(const Message& message) {
    const Error error = message.request().status().error;
    if (Operation* const operation = message.operation) {
        operation->moving_ = false;
        if (error != Error::none) operation->error_ = error;
        Outlet& way = windows_.outlet(message.peer->rank);
        if (!message.sends) {
            operation->over_ = true;
            --way.unanswered;
        }
        // The target answers for a message that was cancelled, too.
        if (operation->over_ || (error != Error::none && error != Error::cancelled))
            windows_.finish(*operation, operation->error_);
        return windows_.advance_outlet(way);
    }
    Window* const window = windows_.windows_.find(message.asked.window);
    TORUSMP_ASSERT(window != nullptr && window->served != 0, windows_.commons_.rank(),
                   message.asked.window);
    --window->served;
    if (message.sends) return;
    Window::Dealings& dealings = window->dealings[message.asked.origin];
    TORUSMP_ASSERT(dealings.arriving != 0, windows_.commons_.rank(), message.peer->rank);
    --dealings.arriving;
    if (!message.peer->dead) windows_.answer(*message.peer, dealings, message.asked.operation);
}

}  // namespace torusmp::core::rma
