// SPDX-License-Identifier: BSD-3-Clause
// Addresses of network devices and their networks. Plain values; any thread may call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace torusmp::base {

// fe80::/10, 169.254.0.0/16: valid on one device only. Bytes as in Address.
constexpr bool is_link_local(bool v6, const std::array<std::uint8_t, 16>& bytes) {
    return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

// An IPv4 or IPv6 address, or the network given by its first `prefix` bits.
struct Address {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  // in network order; IPv4 in the first four
    int prefix = 0;

    bool link_local() const { return is_link_local(v6, bytes); }
    bool loopback() const;  // ::1, 127.0.0.0/8
    bool same_network(const Address& other) const;
    std::string text() const;         // "10.0.0.1"
    std::string with_prefix() const;  // "10.0.0.1/30"
    friend bool operator==(const Address&, const Address&) = default;
};

// "10.0.0.1/30"; without a prefix, the address of one host.
std::optional<Address> parse_address(std::string_view text);

}  // namespace torusmp::base
