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
    bool again = false;  // its port has had a channel before
    bool met = false;    // the two ends have met
    Clock::time_point give_up_at = Clock::time_point::max();

    // Its channel takes the place of that one.
    void follow(const Patience& before, std::chrono::nanoseconds timeout) {
        again = true;
        const bool awaited_before = before.again && !before.met;
        if (!awaited_before) give_up_at = Clock::now() + timeout;
    }
};

}  // namespace torusmp::transport
