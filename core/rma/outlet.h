// SPDX-License-Identifier: BSD-3-Clause
// The operations of this rank on the windows of another one, in the order in which they leave.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/rma/windows.h"

namespace torusmp::core::rma {

class Windows::Outlet final : public Outgoing {
  public:
    Outlet(Windows& windows, Peer& to) : peer(to), windows_(windows) {}

    bool emit(Connection& connection) override;
    void drop(Error error) override {
        queued = false;
        windows_.fail_queued(*this, error);
    }
    void push(Operation& operation) {
        operation.next_ = nullptr;
        (front == nullptr ? front : back_->next_) = &operation;
        back_ = &operation;
    }
    Operation& pop() {
        Operation& operation = *front;
        front = operation.next_;
        return operation;
    }
    // Whether the next packet must wait for an answer.
    bool must_wait() const { return is_answered(front->action) && unanswered == most_unanswered; }

    Peer& peer;
    Operation* front = nullptr;
    bool queued = false;           // in a queue of the connection
    std::uint32_t sent = 0;        // packets
    std::uint32_t taken = 0;       // packets that have come from the peer
    std::uint32_t unanswered = 0;  // packets

  private:
    Windows& windows_;
    Operation* back_ = nullptr;
};

}  // namespace torusmp::core::rma
