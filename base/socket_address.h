// Addresses as the socket calls take and give them. Pure functions; any thread may call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "base/address.h"

namespace torusmp::base {

// Nothing: it is neither IPv4 nor IPv6. The prefix is left at 0.
std::optional<Address> address_from(const sockaddr* found);
// Of a netmask; null has none.
int prefix_from(const sockaddr* mask);
// device: index of the own device that a link-local address lies behind.
sockaddr_storage socket_address(const Address& address, std::uint16_t port, unsigned device);

}  // namespace torusmp::base
