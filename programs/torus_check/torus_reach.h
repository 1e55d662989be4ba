// SPDX-License-Identifier: BSD-3-Clause
// The probes where no network but the torus joins the hosts: started by torus-run's node daemons,
// each of which is started by a neighbour, and which carry what the probes say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/reach.h"

namespace torusmp::torus_check {

struct TorusPlan {
    std::vector<std::string> hosts;  // by node
    std::optional<int> here;         // this host among them; nothing: it is not in the torus
    std::string program;             // torus-check and torus-run, as the hosts know them
    std::string torus_run;
    // Whether the links of the settings define the neighbours. Otherwise each host tries all others
    // by their names or, if the agent accepts addresses, those that answer on its links.
    bool links_known = true;
};

// `settings` must outlive it.
std::unique_ptr<Reach> reach_through_torus(const config::Settings& settings, TorusPlan plan);

}  // namespace torusmp::torus_check
