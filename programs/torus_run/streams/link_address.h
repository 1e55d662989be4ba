// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a node's neighbours where the torus is the only network: the link-local
// addresses on the links to them. Each neighbour answers an ICMPv6 echo to all nodes of the cable.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::torus_run {

// Returns those of `neighbours` whose cables are all visibly dead: the device is down, has no
// carrier or does not exist.
std::vector<int> without_a_cable(const config::Settings& settings, int node,
                                 const std::vector<int>& neighbours);

// Returns "fe80::1%eth1" for each of `neighbours` that answers within `timeout`; the settings must
// contain their links. Leaves out the others. Returns as soon as all have answered.
std::map<int, std::string> link_addresses(const config::Settings& settings, int node,
                                          const std::vector<int>& neighbours,
                                          std::chrono::milliseconds timeout);

// Returns "fe80::1%eth1" for the first station that answers within `timeout` on each device of
// this host with a carrier, for callers that do not know which devices are links. Returns as soon
// as each device has an answer.
std::vector<std::string> addresses_on_links(std::chrono::milliseconds timeout);

}  // namespace torusmp::torus_run
