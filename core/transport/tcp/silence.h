// SPDX-License-Identifier: BSD-3-Clause
// Decides from the kernel's counters of a connection whether its other end still answers. Pure:
// the caller asks the kernel, sends the question and ends the connection.
#pragma once

#include <netinet/tcp.h>

#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport::tcp {

class SilenceWatch {
  public:
    struct Finding {
        Clock::time_point next;  // when to look again
        bool ask = false;        // send something that the peer's kernel must answer
        bool dead = false;       // the other end does not answer any more
    };
    struct Rules {
        // A silence of this length ends the connection.
        std::chrono::nanoseconds limit;
        bool made_good;  // core repairs the loss of the connection, which may be given up early
        bool blocked;    // the socket accepts nothing more, so it cannot carry a question
    };

    Finding look(const tcp_info& info, Clock::time_point now, const Rules& rules);

  private:
    // When data was first seen unacknowledged, without an answer since.
    Clock::time_point unacknowledged_since_{};
};

}  // namespace torusmp::transport::tcp
