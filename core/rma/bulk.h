// SPDX-License-Identifier: BSD-3-Clause
// Large puts and gets: the packet that asks names the target's memory, and the bytes go as a
// message between the two ranks, so they take the remote writes and the paths that messages take.
//
// The message has the window's context, and a tag made of the origin's id of the operation.
#pragma once

#include <deque>
#include <vector>

#include "core/progress/progress.h"
#include "core/pt2pt/messages.h"
#include "core/rma/windows.h"

namespace torusmp::core::rma {

class Windows::Bulk final : private Task {
  public:
    Bulk(Windows& windows, Messages& messages) : windows_(windows), messages_(messages) {}

    // Whether the access goes as a message.
    bool takes(const Operation& operation) const;
    // Starts the message of an operation whose packet has left.
    void begin(Operation& operation);
    // Starts the other end of the message, at the target. Returns false for what no origin asks.
    bool serve(const Asked& asked);

  private:
    // One end of a message.
    struct Message {
        Operation* operation;  // of this rank; null at the target
        Peer* peer;
        bool sends;
        AskBody asked;  // at the target
        SendRequest send;
        ReceiveRequest receive;

        const Request& request() const {
            return sends ? static_cast<const Request&>(send) : receive;
        }
    };

    void start(Operation* operation, const AskBody& asked, Peer& peer, bool sends,
               const Buffer& buffer, Context context, std::uint32_t id);
    void end(const Message& message);

    bool advance() override;
    void report(Waits&) const override {}  // the modules of messages report them

    Windows& windows_;
    Messages& messages_;
    std::deque<Message> all_;
    std::vector<Message*> free_, moving_;
    bool listed_ = false;  // as a task
};

}  // namespace torusmp::core::rma
