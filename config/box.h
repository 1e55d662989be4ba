// SPDX-License-Identifier: BSD-3-Clause
// Boxes of the nodes of a torus.
//
// Pure functions; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::config {

// A box of nodes: along a dimension that wraps it may cross the end.
struct Box {
    std::vector<int> start, extents;
};

// The extents of all boxes with this number of nodes that a torus of `dims` has.
std::vector<std::vector<int>> extents_of(const std::vector<int>& dims, int nodes);
// The nodes of a box, row by row of the box.
std::vector<int> nodes_of(const std::vector<int>& dims, const Box& box);
// Leaves only the nodes of the box; `why` becomes the origin of what changes. Precondition: the
// cables form a torus.
void keep_box(Settings& settings, const Box& box, const std::string& why);

}  // namespace torusmp::config
