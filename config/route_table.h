// SPDX-License-Identifier: BSD-3-Clause
// The routes of one host, for repeated lookups.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "base/address.h"
#include "config/network.h"

namespace torusmp::config {

// The route that the kernel takes to an address: the longest matching prefix.
class RouteTable {
  public:
    // Uses the routes of a host for which counts(route) is true.
    template <class Counts>
    RouteTable(const HostFacts& facts, Counts&& counts) {
        for (const RouteFact& route : facts.routes) {
            if (!counts(route)) continue;
            prefixes_.insert({route.to.v6, route.to.prefix});
            networks_.insert(masked(route.to, route.to.prefix));
        }
    }

    bool reaches(const base::Address& address) const {
        return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& known) {
            return known.first == address.v6 && networks_.count(masked(address, known.second)) != 0;
        });
    }

  private:
    using Key = std::pair<int, std::array<std::uint8_t, 16>>;  // family and prefix, network

    static Key masked(const base::Address& address, int prefix) {
        Key key{(address.v6 ? 256 : 0) + prefix, {}};
        for (int bit = 0; bit < prefix; bit += 8) {
            const auto mask = std::uint8_t(prefix - bit >= 8 ? 0xff : 0xff << (8 - (prefix - bit)));
            const auto i = std::size_t(bit / 8);
            key.second[i] = address.bytes[i] & mask;
        }
        return key;
    }

    std::set<std::pair<bool, int>> prefixes_;
    std::set<Key> networks_;
};

}  // namespace torusmp::config
