// SPDX-License-Identifier: BSD-3-Clause
#include "base/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace torusmp::base {

bool Address::loopback() const {
    if (!v6) return bytes[0] == 127;
    return std::all_of(bytes.begin(), bytes.end() - 1, [](auto byte) { return byte == 0; }) &&
           bytes[15] == 1;
}

bool Address::same_network(const Address& other) const {
    if (v6 != other.v6 || prefix != other.prefix) return false;
    for (int bit = 0; bit < prefix; bit += 8) {
        const auto mask = std::uint8_t(prefix - bit >= 8 ? 0xff : 0xff << (8 - (prefix - bit)));
        if ((bytes[std::size_t(bit / 8)] ^ other.bytes[std::size_t(bit / 8)]) & mask) return false;
    }
    return true;
}

std::string Address::text() const {
    char words[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), words, sizeof words);
    return words;
}

std::string Address::with_prefix() const {
    return fmt::format("{}/{}", text(), prefix);
}

std::optional<Address> parse_address(std::string_view text) {
    Address address;
    const std::size_t slash = text.find('/');
    const std::string words(text.substr(0, slash));
    address.v6 = words.find(':') != std::string::npos;
    const int widest = address.v6 ? 128 : 32;
    if (words.find('\0') != std::string::npos ||
        ::inet_pton(address.v6 ? AF_INET6 : AF_INET, words.c_str(), address.bytes.data()) != 1)
        return std::nullopt;
    address.prefix = widest;
    if (slash == std::string_view::npos) return address;
    const auto prefix = parse_integer(text.substr(slash + 1));
    if (!prefix || *prefix < 0 || *prefix > widest) return std::nullopt;
    address.prefix = int(*prefix);
    return address;
}

}  // namespace torusmp::base
