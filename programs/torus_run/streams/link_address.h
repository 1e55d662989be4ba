// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of a node as they are reached where the torus is the only network: by the
// addresses on the links that lead to them. Each answers on its own cable to an ICMPv6 echo for all
// nodes of the link.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::launch {

// Those of `neighbours` to whom every cable is seen to be dead: its device is down, sees no carrier
// or does not exist.
std::vector<int> without_a_cable(const config::Settings& settings, int node,
                                 const std::vector<int>& neighbours);

// "fe80::1%eth1" for each of `neighbours` that answers within `patience`; needs their links in the
// settings. Others are left out. Waits no longer than it must.
std::map<int, std::string> link_addresses(const config::Settings& settings, int node,
                                          const std::vector<int>& neighbours,
                                          std::chrono::milliseconds patience);

// "fe80::1%eth1" of whoever answers first within `patience` on each device of this host that sees a
// carrier, for those who do not know which of them are links, and to whom. Waits no longer than it
// must.
std::vector<std::string> addresses_on_links(std::chrono::milliseconds patience);

}  // namespace torusmp::launch
