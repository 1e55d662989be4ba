// SPDX-License-Identifier: BSD-3-Clause
// Finds the messages between neighbours of a rank that this rank can forward at the same time, if
// each of its links takes one in and one out.
//
// Pure functions of a torus and its shortest paths.
#pragma once

#include <vector>

#include "routing/torus.h"

namespace torusmp::bench {

struct Flow {
    int from, to;                // ranks
    routing::Direction in, out;  // links of the forwarding rank, as it sees them
};

// A maximum set of flows, no two with the same link in or the same link out.
std::vector<Flow> flows_through(const routing::Torus& torus, int node);
// The first rank with the maximum number of flows.
int busiest_forwarder(const routing::Torus& torus);
// The number of links with a flow in or out.
int links_used(const std::vector<Flow>& flows);

}  // namespace torusmp::bench
