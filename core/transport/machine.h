// SPDX-License-Identifier: BSD-3-Clause
// Hosts as transports see them: what each offers, what is wrong with a machine and what could be
// better, with all transports of this build asked.
//
// this_host() and facts_of_links() ask the kernel; the others are pure. Any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/netplan.h"
#include "config/network.h"
#include "config/settings.h"

namespace torusmp::transport {

// As in config/network.h, together with what the transports find.
config::HostFacts this_host(const std::string& geometry_file = {}, bool with_routes = false);
config::HostFacts facts_of_links(const config::Settings& settings, int node);
config::HostFacts parse_facts(std::string_view text);

// As in config/network.h; if the settings ask for a transport, each cable must be able to use it.
std::vector<config::MachineFault> find_faults(const config::Settings& settings,
                                              const std::vector<config::HostFacts>& by_node,
                                              const config::Locations& locations = {},
                                              const std::string& geometry = {});
// Their texts.
std::vector<std::string> check_machine(const config::Settings& settings,
                                       const std::vector<config::HostFacts>& by_node,
                                       const config::Locations& locations = {},
                                       const std::string& geometry = {});

// What works, but not as well as it could: links that take another transport because of one end,
// ends that do not fit each other, hosts that are short of something. The same note about several
// hosts is given once.
std::vector<std::string> machine_notes(const config::Settings& settings,
                                       const std::vector<config::HostFacts>& by_node);

// Whether any transport that may be used needs the routes of config::NetplanOptions::to_links.
bool reaches_link_addresses(const config::Settings& settings);

}  // namespace torusmp::transport
