// SPDX-License-Identifier: BSD-3-Clause
// The head's orders to the hosts: their content, and the hosts through which each is reached. Pure
// except for reading the file mode mask and the geometry file.
#pragma once

#include <optional>
#include <vector>

#include "programs/torus_run/streams/messages.h"
#include "routing/torus.h"

namespace torusmp::torus_run {

// Returns for each node the node that starts its daemon: a tree of shortest paths over the torus
// from `start`, which the head itself reaches (-1).
std::vector<int> spanning_tree(const routing::Torus& nodes, int start);

// The torus over whose cables daemons are started; nullopt if they are reached over another
// network.
std::optional<routing::Torus> launch_torus(const Job& job);

// The part of the order that is common to all hosts.
HostOrder make_tree(const Job& job);
// Gives a variable of an environment, "NAME=value", a new value.
void set_variable(std::vector<std::string>& environment, const std::string& variable);
// The order for one host. The list of hosts is left out for a host that starts no others.
HostOrder make_order(const Job& job, const HostOrder& tree, int node);

}  // namespace torusmp::torus_run
