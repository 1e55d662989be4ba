// SPDX-License-Identifier: BSD-3-Clause
// Fits the torus of a geometry file to the ranks and hosts of one job: more ranks than hosts fill
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
    std::vector<std::string> hosts;  // some hosts of the file; empty for all
    std::string hosts_option;
};

// Changes torus.dims, torus.periodic, torus.ranks_per_node, nodes.hosts and the links of `settings`
// so that rank_torus() accepts the ranks that are asked for. Precondition: nodes.hosts is set. The
// hosts that are used form a box of the torus; a dimension that loses hosts does not wrap around.
// Among the boxes of the right size, the one with the hosts named first is used, otherwise the most
// compact one. Consecutive ranks share a host. A torus.ranks_per_node that the user has set is
// kept. Throws ConfigError, which names numbers that would fit.
void fit(Settings& settings, const Demand& demand);

// A box of nodes: along a dimension that wraps it may cross the end.
struct Box {
    std::vector<int> start, extents;
};

// The extents of all boxes with this number of nodes that a torus of `dims` has.
std::vector<std::vector<int>> extents_of(const std::vector<int>& dims, int nodes);
// The nodes of a box, row by row of the box.
std::vector<int> nodes_of(const std::vector<int>& dims, const Box& box);
// Leaves only the nodes of the box; `why` becomes the origin of what changes.
void keep_box(Settings& settings, const Box& box, const std::string& why);
// A block of ranks along the last dimension. Precondition: dims are set.
void set_ranks_per_host(Settings& settings, int ranks, const std::string& why);

}  // namespace torusmp::config
