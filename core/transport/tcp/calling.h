// SPDX-License-Identifier: BSD-3-Clause
// The state of a channel that is being connected: the ends of its connection, and the calls so far.
//
// Owned by the channel, and changed only by the Connector.
#pragma once

#include <optional>
#include <string>

#include "core/transport/common/address.h"
#include "core/transport/common/patience.h"

namespace torusmp::transport::tcp {

struct Calling {
    std::string device_name;  // the device that the connection is bound to, if any
    unsigned device = 0;      // its index
    unsigned leaves_by = 0;   // a shortcut's device of the kernel's route; 0 if not known
    Endpoint theirs;
    std::optional<Pair> pair;  // nullopt while the two ends share no network
    bool renews = false;       // ChannelOptions::renews
    // True for a link, which may be connected again after it has gone down, and then waits for its
    // cable.
    bool mutual = false;
    unsigned calls = 0;
    Patience patience;
    std::string stranger;  // a caller on its cable that does not belong there
    Clock::time_point call_at = Clock::time_point::max();  // if it is not open by then
};

}  // namespace torusmp::transport::tcp
