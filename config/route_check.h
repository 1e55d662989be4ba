// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernels of all hosts have the routes that routing.forward = "kernel" requires.
// Pure; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/network.h"

namespace torusmp::config {

struct RouteFault {
    int node = 0;  // the first host that has it
    std::string text;
};

// `hosts` is indexed by node and includes routes. The settings have a torus of nodes.
std::vector<RouteFault> find_route_faults(const Settings& settings,
                                          const std::vector<HostFacts>& hosts);

}  // namespace torusmp::config
