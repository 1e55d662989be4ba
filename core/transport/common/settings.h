// SPDX-License-Identifier: BSD-3-Clause
// Settings of all transports over a network.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/common/network.h"

namespace torusmp::transport::setting {

using namespace config::literals;

inline const config::Setting<config::Duration> timeout{
    "transport.timeout", config::time_between(100ms, 1h), NetworkOptions{}.timeout,
    "A link is dead if the host at its other end does not answer for this long. A rank is dead if "
    "it is stopped for this long. A rank may compute for any time."};
inline const config::Setting<bool> checksum{
    "transport.checksum", config::boolean(), NetworkOptions{}.checksum,
    "Whether every packet and write over a network carries a CRC-32C of header and payload, which "
    "every hop checks."};

inline const config::Table network{&timeout, &checksum};

}  // namespace torusmp::transport::setting
