// SPDX-License-Identifier: BSD-3-Clause
// The way of a large message over one of several links: each rail takes the next piece when it has
// a credit for it. If large messages of many ranks converge on the receiver, a rail takes no more
// than its share (routing/way_shares.h): all that these ranks send may be under way before returned
// credits could show where it is too much. But if another link turns out to be much slower, because
// its cable is slow or the ways behind it are busy, the rail goes on beyond its share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/assert.h"
#include "core/connection/connection.h"
#include "core/request.h"

namespace torusmp::core {

struct Rail : public Outgoing {
    Rail(SendRequest::Sender& by, SendRequest& of, const Connection& over)
        : sender(by), request(&of), link(over) {}

    SendRequest::Sender& sender;
    SendRequest* request;  // null if the message has ended
    const Connection& link;
    Rail* sibling = nullptr;
    std::uint64_t sent = 0;                                           // pieces
    std::uint64_t share = std::numeric_limits<std::uint64_t>::max();  // of them

    // Whether this rail leaves the rest to the others. Precondition: the message has not ended.
    bool gives_way() const {
        if (sent < share) return false;
        for (const Rail* it = request->rails_; it != nullptr; it = it->sibling)
            if (it->sent < it->share && much_slower * it->arrived() < arrived()) return false;
        return true;
    }
    // Takes the rail off its message, which others complete.
    void leave() {
        Rail** it = &request->rails_;
        while (*it != this) it = &(*it)->sibling;
        *it = sibling;
        TORUSMP_ASSERT(request->rails_ != nullptr, request->peer_, sent, share);
    }
    // Detaches the rails of a message that has ended; they leave their queues in their turn.
    static void forget(SendRequest& of) {
        for (Rail* it = of.rails_; it != nullptr; it = it->sibling) it->request = nullptr;
        of.rails_ = nullptr;
    }

  private:
    static constexpr std::uint64_t much_slower = 4;

    // Pieces that have certainly left the link.
    std::uint64_t arrived() const {
        return sent - std::min<std::uint64_t>(sent, link.credits.taken(0));
    }
};

}  // namespace torusmp::core
