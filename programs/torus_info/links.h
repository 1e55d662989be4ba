// SPDX-License-Identifier: BSD-3-Clause
// The transport that each link of this host would use, as far as one end can know, and the cables
// of the machine from outside. Plain values; only links_of() queries the host, for its devices.
#pragma once

#include <string>
#include <vector>

#include "config/network.h"
#include "config/settings.h"

namespace torusmp::torus_info {

struct LinkReport {
    std::string link;     // "0+"; empty for a cable of a graph
    std::string device;   // empty if [links] names none
    std::string to;       // the host at the far end
    std::string carrier;  // a transport; empty if none, see `why`
    std::string why;
    std::string advice;  // how to get a better transport; empty if there is nothing to improve
};

// The links that leave a node. The far ends are not queried.
std::vector<LinkReport> links_of(const config::Settings& settings, int node);

// A cable as the geometry file describes it; no host is queried.
struct CableReport {
    std::string link;          // "0+", seen from `from`; empty for a cable of a graph
    std::string from, device;  // host and device; empty device: [links] names none
    std::string to, far_device;
};

// All cables of the machine, by node. Precondition: the settings name hosts in a torus of nodes.
std::vector<CableReport> cables_of(const config::Settings& settings);
// The transports that links between hosts may use, best first: one if the settings leave no choice,
// otherwise the capabilities of the hosts decide.
std::vector<std::string> possible_carriers(const config::Settings& settings);

std::string cables_text(const config::Settings& settings);
std::string cables_json(const config::Settings& settings);

std::string links_text(const std::vector<LinkReport>& links);
std::string links_json(const std::vector<LinkReport>& links);

}  // namespace torusmp::torus_info
