// SPDX-License-Identifier: BSD-3-Clause
// Fits the machine of a geometry file to the ranks and hosts of one job: more ranks than hosts fill
// the hosts, fewer use a part of the machine.
//
// Pure functions; any thread may call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::config {

// The user's request; `..._option` names the option, for messages and as the origin of the settings
// that change ("-np 8").
struct Demand {
    std::optional<int> ranks;
    std::string ranks_option;
    int ranks_per_host = 0;  // 0 if not given
    std::string ranks_per_host_option;
    std::vector<std::string>
        hosts;                 // hosts of the file that may be used, best first; empty for all
    int free = 0;              // as many of them are left free at least
    std::string first;         // a host to use if possible; empty for none
    std::string hosts_option;  // what excludes the other hosts
};

// Changes torus.dims, torus.periodic, torus.ranks_per_node, torus.cables, nodes.hosts and the links
// of `settings` so that rank_torus() accepts the ranks that are asked for. Precondition:
// nodes.hosts is set, nodes.spares is not. The hosts are those that fit_living() chooses.
// Consecutive ranks share a host. A torus.ranks_per_node that the user has set is kept. Throws
// ConfigError, which names numbers that would fit.
void fit(Settings& settings, const Demand& demand);

}  // namespace torusmp::config
