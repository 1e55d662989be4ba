// SPDX-License-Identifier: BSD-3-Clause
// The head's orders to the hosts: what each is told, and through which other hosts it is reached.
// Pure except for the mask and the geometry file, which are read.
#pragma once

#include <optional>
#include <vector>

#include "programs/torus_run/streams/messages.h"
#include "routing/torus.h"

namespace torusmp::launch {

// For each node the one that starts its daemon: a tree of shortest paths over the torus from
// `start`, which the head reaches itself (-1).
std::vector<int> spanning_tree(const routing::Torus& nodes, int start);

// The torus over whose cables daemons are started; nothing: they are reached over another network.
std::optional<routing::Torus> launch_torus(const Job& job);

// What is the same for every host.
HostOrder make_tree(const Job& job);
// The order for one host. A host that will start no others is not told about them.
HostOrder make_order(const Job& job, const HostOrder& tree, int node);

}  // namespace torusmp::launch
