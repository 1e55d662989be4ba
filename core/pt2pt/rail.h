// SPDX-License-Identifier: BSD-3-Clause
// One link's share of a large message that is sent over several: each rail takes the next piece
// when it has a credit for it.
#pragma once

#include "core/request.h"

namespace torusmp::core {

struct Rail : public Outgoing {
    Rail(SendRequest::Sender& by, SendRequest& of) : sender(by), request(&of) {}

    SendRequest::Sender& sender;
    SendRequest* request;  // null if the message has ended
    Rail* sibling = nullptr;

    // Detaches the rails of a message that has ended; they leave their queues in their turn.
    static void forget(SendRequest& of) {
        for (Rail* it = of.rails_; it != nullptr; it = it->sibling) it->request = nullptr;
        of.rails_ = nullptr;
    }
};

}  // namespace torusmp::core
