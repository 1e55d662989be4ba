// SPDX-License-Identifier: BSD-3-Clause
// Which way the kernel of this host sends packets.
#pragma once

#include <string>

#include "base/address.h"

namespace torusmp::transport {

// The device by which packets to that address leave, as the kernel decides now; empty: none, or the
// address is one of this host.
std::string device_towards(const base::Address& address);

}  // namespace torusmp::transport
