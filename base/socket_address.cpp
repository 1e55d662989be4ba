// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_address.h"

#include <bit>
#include <cstring>

namespace torusmp::base {

std::optional<Address> address_from(const sockaddr* found) {
    if (found == nullptr || (found->sa_family != AF_INET && found->sa_family != AF_INET6))
        return std::nullopt;
    Address address;
    address.v6 = found->sa_family == AF_INET6;
    if (address.v6)
        std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(found)->sin6_addr,
                    16);
    else
        std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(found)->sin_addr,
                    4);
    return address;
}

int prefix_from(const sockaddr* mask) {
    int bits = 0;
    if (const auto address = address_from(mask))
        for (const std::uint8_t byte : address->bytes) bits += std::popcount(byte);
    return bits;
}

sockaddr_storage socket_address(const Address& from, std::uint16_t port, unsigned device) {
    sockaddr_storage storage{};
    if (from.v6) {
        auto& address = reinterpret_cast<sockaddr_in6&>(storage);
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        std::memcpy(&address.sin6_addr, from.bytes.data(), 16);
        if (from.link_local()) address.sin6_scope_id = device;
    } else {
        auto& address = reinterpret_cast<sockaddr_in&>(storage);
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        std::memcpy(&address.sin_addr, from.bytes.data(), 4);
    }
    return storage;
}

}  // namespace torusmp::base
