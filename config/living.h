// SPDX-License-Identifier: BSD-3-Clause
// Fits a machine to those of its hosts that a job uses: if it needs fewer, while spares wait, where
// the user leaves hosts out, and after hosts have died. A box of the torus is preferred; where the
// hosts form none, their cables are a graph.
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
// needs: a box of the torus if there is one, else hosts that cables join. At the first start they
// are the hosts named first where possible. Otherwise returns why not, beginning with `team.why`,
// and changes nothing. Precondition: nodes.hosts is set, nodes.spares is not.
std::string fit_living(Settings& machine, const Team& team);

// Whether fit_living() would take a box of a torus. Precondition as above.
bool has_box(const Settings& machine, const Team& team);

// A block of ranks along the last dimension. Precondition: dims are set.
void set_ranks_per_host(Settings& settings, int ranks, const std::string& why);

// Throws ConfigError if one of the names is not a host of the machine, or is there twice. `option`
// is where they come from.
void check_hosts(const std::vector<std::string>& names, const Settings& machine,
                 const std::string& option);

// Throws ConfigError if nodes.spares names other hosts than those of the machine, or all of them.
void check_spares(const Settings& settings);

}  // namespace torusmp::config
