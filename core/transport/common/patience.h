// SPDX-License-Identifier: BSD-3-Clause
// How long a link whose cable has died is waited for. It is connected again at once, and the
// channel then waits for the cable: the first one after a death says that there is none when the
// timeout has passed; those after it wait for as long as it takes.
//
// A plain value, of one channel.
#pragma once

#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport {

struct Patience {
    bool again = false;              // its port has had a channel before
    bool met = false;                // the two ends have met
    Clock::time_point not_before{};  // it is not tried earlier (ChannelOptions::pause)
    Clock::time_point give_up_at = Clock::time_point::max();

    // Its channel takes the place of that one, and waits for so long at least.
    void follow(const Patience& before, std::chrono::nanoseconds pause,
                std::chrono::nanoseconds timeout) {
        again = true;
        not_before = Clock::now() + pause;
        const bool awaited_before = before.again && !before.met;
        if (!awaited_before) give_up_at = not_before + timeout;
    }
};

}  // namespace torusmp::transport
