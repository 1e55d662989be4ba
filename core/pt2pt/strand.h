// One link's share of a large message that goes over several: each takes the next piece when it has
// a token for it.
#pragma once

#include "core/request.h"

namespace torusmp::core {

struct Strand : public Outgoing {
    Strand(SendRequest::Sender& by, SendRequest& of) : sender(by), request(&of) {}

    SendRequest::Sender& sender;
    SendRequest* request;  // null: the message has ended
    Strand* sibling = nullptr;

    // The message has ended; its strands leave their queues when their turn comes.
    static void forget(SendRequest& of) {
        for (Strand* it = of.strands_; it != nullptr; it = it->sibling) it->request = nullptr;
        of.strands_ = nullptr;
    }
};

}  // namespace torusmp::core
