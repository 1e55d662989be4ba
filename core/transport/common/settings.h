// SPDX-License-Identifier: BSD-3-Clause
// Settings of all transports over a network.
#pragma once

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport::setting {

using namespace config::literals;

inline const config::Setting<config::Duration> timeout{
    "transport.timeout", config::time_between(100ms, 1h), 10s,
    "A link by which no host or device answers for this long is dead, and so is a rank that is "
    "stopped for this long. A rank that computes may take any time."};
inline const config::Setting<bool> checksum{
    "transport.checksum", config::boolean(), false,
    "Whether every packet and write over a network carries a CRC-32C of header and payload, made "
    "where it starts and checked at every hop."};

inline const config::Table network{&timeout, &checksum};

}  // namespace torusmp::transport::setting
