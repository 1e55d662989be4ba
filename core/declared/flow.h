// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a declared channel. The n-th started send matches the n-th started receive; the
// ends count, and nothing is searched.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "core/match/unexpected.h"
#include "core/request.h"
#include "core/transport/api/channel.h"
#include "core/transport/common/fifo.h"

namespace torusmp::core {

struct FlowKey {
    Context context;
    std::uint32_t kind;
    friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

// A started receive that the peer has announced to this rank.
struct Ready {
    std::uint32_t receive_handle;
    std::uint32_t ordinal;
    std::uint64_t bytes;
    transport::RemoteMemory memory;
};

class SendFlow {
  public:
    SendFlow(Rank to, FlowKey as, std::uint32_t number) : dest(to), key(as), label(number) {}
    const Rank dest;
    const FlowKey key;
    const std::uint32_t label;     // the flow's label in our packets
    std::uint32_t started = 0;     // sends started so far
    transport::Fifo<Ready> ready;  // in order of their ordinals
    // Sends that have sent an RTS and wait for an RTR or a FIN; in order.
    SendRequest* waiting = nullptr;
    SendRequest* waiting_last = nullptr;

    void wait(SendRequest& request) {
        TORUSMP_ASSERT(&request != waiting_last || waiting == nullptr, dest, label, started);
        TORUSMP_ASSERT((waiting == nullptr) == (waiting_last == nullptr), dest, label, started);
        request.next_waiting_ = nullptr;
        (waiting == nullptr ? waiting : waiting_last->next_waiting_) = &request;
        waiting_last = &request;
    }
    // Removes a send from those whose receive is not known.
    void stop_waiting(SendRequest& request) {
        SendRequest* previous = nullptr;
        for (SendRequest* r = waiting; r != nullptr; previous = r, r = r->next_waiting_) {
            if (r != &request) continue;
            (previous == nullptr ? waiting : previous->next_waiting_) = r->next_waiting_;
            if (waiting_last == r) waiting_last = previous;
            return;
        }
    }
};

class ReceiveFlow {
  public:
    ReceiveFlow(Rank from, FlowKey as, std::uint32_t number)
        : source(from), key(as), label(number) {}
    const Rank source;
    const FlowKey key;
    const std::uint32_t label;
    std::uint32_t started = 0;        // receives started so far
    ReceiveRequest* first = nullptr;  // started receives whose message has not arrived
    ReceiveRequest* last = nullptr;
    Unexpected* unexpected = nullptr;  // messages whose receive is not started
    Unexpected* unexpected_last = nullptr;

    void start(ReceiveRequest& request) {
        TORUSMP_ASSERT(!request.complete(), source, label, started);
        TORUSMP_ASSERT((first == nullptr) == (last == nullptr), source, label, started);
        request.become(ReceiveRequest::Stage::posted);
        request.next_ = nullptr;
        (first == nullptr ? first : last->next_) = &request;
        last = &request;
    }
    // Removes and returns the oldest started receive; null if none is started.
    ReceiveRequest* take_started() {
        ReceiveRequest* request = first;
        if (request == nullptr) return nullptr;
        TORUSMP_ASSERT(request->posted(), source, label, started);
        TORUSMP_ASSERT((request == last) == (request->next_ == nullptr), source, label, started);
        first = request->next_;
        if (first == nullptr) last = nullptr;
        request->become(ReceiveRequest::Stage::idle);
        return request;
    }
    void keep(Unexpected& message) {
        message.next_in_flow = nullptr;
        (unexpected == nullptr ? unexpected : unexpected_last->next_in_flow) = &message;
        unexpected_last = &message;
    }
    Unexpected* take_unexpected() {
        Unexpected* message = unexpected;
        if (message != nullptr) unexpected = message->next_in_flow;
        return message;
    }
};

}  // namespace torusmp::core
