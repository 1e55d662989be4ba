// SPDX-License-Identifier: BSD-3-Clause
// Hosts as seen by transports: what each offers, what is wrong with a machine and what could be
// better, according to all transports of this build.
//
// this_host() and facts_of_links() query the kernel; the others are pure. Any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/netplan.h"
#include "config/network.h"
#include "config/settings.h"

namespace torusmp::transport {

// The functions of config/network.h, with the findings of the transports.
config::HostFacts this_host(const std::string& geometry_file = {}, bool with_routes = false);
config::HostFacts facts_of_links(const config::Settings& settings, int node);
config::HostFacts parse_facts(std::string_view text);

// The same. If the settings request a transport, each cable must be able to use it.
std::vector<config::MachineFault> find_faults(const config::Settings& settings,
                                              const std::vector<config::HostFacts>& by_node,
                                              const config::Locations& locations = {},
                                              const std::string& geometry = {});
// The texts of these faults.
std::vector<std::string> check_machine(const config::Settings& settings,
                                       const std::vector<config::HostFacts>& by_node,
                                       const config::Locations& locations = {},
                                       const std::string& geometry = {});

// Links and ranks that work, but not as well as they could: links that use another transport
// because of one end, ends that do not match, hosts that lack some resource. The same note about
// several hosts is given once.
std::vector<std::string> machine_notes(const config::Settings& settings,
                                       const std::vector<config::HostFacts>& by_node);

// Whether any transport that may be used needs the routes of config::NetplanOptions::to_links.
bool reaches_link_addresses(const config::Settings& settings);

}  // namespace torusmp::transport
