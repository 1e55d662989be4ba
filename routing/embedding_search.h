// SPDX-License-Identifier: BSD-3-Clause
// The search for the map behind an Embedding. Internal to routing; pure; any thread may call it.
#pragma once

#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// The rank of every place of the logical grid, row-major. The product of the extents must be
// physical.size(). The work is bounded by a count, not by time, so that every rank stops at the
// same map.
std::vector<Rank> find_embedding(const std::vector<int>& extents, const std::vector<bool>& periodic,
                                 const Torus& physical);

}  // namespace torusmp::routing
