// SPDX-License-Identifier: BSD-3-Clause
// The path by which this host's kernel sends packets.
#pragma once

#include <string>

#include "base/address.h"

namespace torusmp::transport {

// The device by which packets to that address leave, as the kernel decides now; empty if there is
// none, or if the address is one of this host.
std::string device_towards(const base::Address& address);

}  // namespace torusmp::transport
