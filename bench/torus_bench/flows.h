// SPDX-License-Identifier: BSD-3-Clause
// Which messages between neighbours of a rank that rank passes on, if each link of it takes one in
// and one out.
//
// Pure: of a torus and its shortest paths.
#pragma once

#include <vector>

#include "routing/torus.h"

namespace torusmp::bench {

struct Flow {
    int from, to;                // ranks
    routing::Direction in, out;  // links of the rank between them, as it sees them
};

// As many as there can be at once, no two with the same link in or the same link out.
std::vector<Flow> flows_through(const routing::Torus& torus, int node);
// The first rank with the most of them.
int busiest_forwarder(const routing::Torus& torus);
// Links that take something in or out.
int links_used(const std::vector<Flow>& flows);

}  // namespace torusmp::bench
