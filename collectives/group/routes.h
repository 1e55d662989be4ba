// SPDX-License-Identifier: BSD-3-Clause
// The ways through a group's grid that its algorithms take, as one member sees them: trees, regions
// and bundles. Each is worked out on first use and kept.
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

// This member in one tree over the grid: where its parent and its children lie.
struct TreeLinks {
    std::optional<routing::Direction> parent;  // nothing at the root
    std::vector<routing::Direction> children;
    int height = 0;  // of the whole tree
};

class Routes {
  public:
    // Those of the member at `place`. torus: the grid, kept by the caller.
    Routes(const routing::Torus& torus, int place);
    ~Routes();
    Routes(const Routes&) = delete;
    Routes& operator=(const Routes&) = delete;

    // The links in the trees from a place, see routing/trees.h.
    enum class Trees { dimension_ordered, disjoint };  // one tree; several
    const std::vector<TreeLinks>& trees(Trees kind, int root_place);
    // A place from which the trees are low: the middle of an open dimension.
    int middle() const;
    // The part in the optimal scatter and gather from a place.
    const Regions& regions(int root_place);
    // What crosses which link when all members broadcast at once.
    const Bundles& bundles();

  private:
    const routing::Torus* torus_;
    int place_;
    std::map<std::pair<Trees, int>, std::vector<TreeLinks>> trees_;
    std::map<int, Regions> regions_;  // by root
    std::unique_ptr<const Bundles> bundles_;
};

}  // namespace torusmp::collectives
