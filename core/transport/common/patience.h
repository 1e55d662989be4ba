// SPDX-License-Identifier: BSD-3-Clause
// How long a link whose cable has died is waited for. The link is connected again immediately, and
// the channel then waits for the cable. After a death, one channel reports that the cable is
// missing when the timeout has passed; later channels wait as long as it takes, unless core wants
// another report (ChannelOptions::afresh). A channel that is closed before it has reported this
// leaves the report to the next.
//
// A plain value, owned by one channel.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport {

struct Patience {
    bool again = false;              // its port has had a channel before
    bool met = false;                // the two ends have met
    bool reported = false;           // an earlier channel has reported the missing cable
    Clock::time_point not_before{};  // the cable is not tried earlier (ChannelOptions::pause)
    Clock::time_point give_up_at = Clock::time_point::max();

    // Its channel replaces that one.
    void follow(const Patience& before, const ChannelOptions& options,
                std::chrono::nanoseconds timeout) {
        again = true;
        not_before = Clock::now() + options.pause;
        reported = !options.afresh && before.again && !before.met &&
                   (before.reported || Clock::now() >= before.give_up_at);
        if (!reported) give_up_at = not_before + timeout;
    }
    // Records a look at the channel, which was due at `due`. After a pause without looks, because
    // the rank was computing, one more call is made: the cable may have returned meanwhile.
    void look(Clock::time_point due, Clock::time_point now,
              std::chrono::nanoseconds between_calls) {
        if (again && now - due > between_calls)
            give_up_at = std::max(give_up_at, now + between_calls);
    }
};

}  // namespace torusmp::transport
