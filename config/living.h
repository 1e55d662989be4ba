// SPDX-License-Identifier: BSD-3-Clause
// Fits a machine to those of its hosts that a job may use: while spares wait, where the user leaves
// hosts out, and after hosts have died. A box of the torus is preferred; where the hosts form none,
// their cables are a graph.
//
// Pure functions; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::config {

struct Team {
    int hosts = 0;  // number of hosts, 1 or more
    int ranks_per_host = 1;
    std::vector<std::string> usable;   // hosts of the machine that may be used, best first
    const Settings* before = nullptr;  // of the job until now, whose hosts keep their places where
                                       // possible; null at the first start
    std::string first;                 // a host to use if possible; empty for none
    std::string why;                   // origin of the settings that change
};

// Changes the settings of the whole machine (torus.dims, torus.periodic, torus.ranks_per_node,
// torus.cables, nodes.hosts and the links) to those of a job on as many usable hosts as the team
// needs. Returns false, and changes nothing, if the usable hosts are too few or no cables join so
// many of them. Precondition: nodes.hosts is set, nodes.spares is not.
bool fit_living(Settings& machine, const Team& team);

// Whether fit_living() would take a box of a torus. Precondition as above.
bool has_box(const Settings& machine, const Team& team);

// Throws ConfigError if one of the names is not a host of the machine, or is there twice. `option`
// is where they come from.
void check_hosts(const std::vector<std::string>& names, const Settings& machine,
                 const std::string& option);

// Throws ConfigError if nodes.spares names other hosts than those of the machine, or all of them.
void check_spares(const Settings& settings);

}  // namespace torusmp::config
