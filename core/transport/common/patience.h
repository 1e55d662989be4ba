// SPDX-License-Identifier: BSD-3-Clause
// How long a link whose cable has died is waited for. It is connected again at once, and the
// channel then waits for the cable. After a death one says that there is none when the timeout has
// passed; those after it wait for as long as it takes. One that is closed before it has said so
// leaves that to the next.
//
// A plain value, of one channel.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport {

struct Patience {
    bool again = false;              // its port has had a channel before
    bool met = false;                // the two ends have met
    bool told = false;               // one before it has said that there is no cable
    Clock::time_point not_before{};  // it is not tried earlier (ChannelOptions::pause)
    Clock::time_point give_up_at = Clock::time_point::max();

    // Its channel takes the place of that one, and waits for so long at least.
    void follow(const Patience& before, std::chrono::nanoseconds pause,
                std::chrono::nanoseconds timeout) {
        again = true;
        not_before = Clock::now() + pause;
        told = before.again && !before.met && (before.told || Clock::now() >= before.give_up_at);
        if (!told) give_up_at = not_before + timeout;
    }
    // It is looked at now, which was due before. After a pause in which nobody looked, because the
    // rank computed, one more call is made: the cable may have come back meanwhile.
    void look(Clock::time_point due, Clock::time_point now,
              std::chrono::nanoseconds between_calls) {
        if (again && now - due > between_calls)
            give_up_at = std::max(give_up_at, now + between_calls);
    }
};

}  // namespace torusmp::transport
