// SPDX-License-Identifier: BSD-3-Clause
// Addresses in the form used by socket calls. Pure functions; any thread may call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "base/address.h"

namespace torusmp::base {

// Empty if it is neither IPv4 nor IPv6. The prefix stays 0.
std::optional<Address> address_from(const sockaddr* found);
// The prefix length of a netmask; 0 for null.
int prefix_from(const sockaddr* mask);
// `device` is the index of the local device through which a link-local address is reached.
sockaddr_storage socket_address(const Address& address, std::uint16_t port, unsigned device);

}  // namespace torusmp::base
