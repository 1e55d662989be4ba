// SPDX-License-Identifier: BSD-3-Clause
// The paths through a group's grid that its algorithms use, as seen by one member: trees, regions
// and bundles. Each is computed on first use and kept.
//
// Owned by a Group. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/group/regions.h"
#include "routing/torus.h"

namespace torusmp::collectives {

class Bundles;

// This member in one tree over the grid: the directions of its parent and its children.
struct TreeLinks {
    std::optional<routing::Direction> parent;  // empty at the root
    std::vector<routing::Direction> children;
    int height = 0;  // of the whole tree
};

class Routes {
  public:
    // The routes of the member at `place` of the grid `torus`, which the caller keeps.
    Routes(const routing::Torus& torus, int place);
    ~Routes();
    Routes(const Routes&) = delete;
    Routes& operator=(const Routes&) = delete;

    // The links in the trees from a place, see routing/trees.h.
    enum class Trees { dimension_ordered, disjoint };  // one tree; several
    const std::vector<TreeLinks>& trees(Trees kind, int root_place);
    // A place from which the trees are low: the middle of an open dimension.
    int middle() const;
    // This member's part in the optimal scatter and gather from a place.
    const Regions& regions(int root_place);
    // The blocks that cross each link when all members broadcast at the same time.
    const Bundles& bundles();

  private:
    const routing::Torus* torus_;
    int place_;
    std::map<std::pair<Trees, int>, std::vector<TreeLinks>> trees_;
    std::map<int, Regions> regions_;  // by root
    std::unique_ptr<const Bundles> bundles_;
};

}  // namespace torusmp::collectives
