// SPDX-License-Identifier: BSD-3-Clause
// The blocks that cross each link in each step when all members broadcast a block at the same time
// (allgather, or reduce-scatter in reverse).
//
// Each member's block spreads along a tree of shortest paths of its own. In step t every block
// reaches the members that are t steps away from its origin, and all blocks that cross one link in
// one step travel together, as a bundle. On a torus that is periodic in all dimensions the trees
// are one tree, shifted to each origin, that uses all directions equally, so all links carry the
// same load. On other grids each tree is dimension-ordered, and origins take turns in the dimension
// they begin with.
//
// A pure value of O(size) memory, built once and kept by the Group. Any thread may read it.
#pragma once

#include <span>
#include <vector>

#include "routing/torus.h"

namespace torusmp::collectives {

class Bundles {
  public:
    // The bundles of the member at place `me`.
    Bundles(const routing::Torus& torus, int me);

    int steps() const { return steps_; }
    // All directions of the torus, by index; directions without a neighbour have no bundles.
    std::span<const routing::Direction> directions() const { return directions_; }
    // The origins (places, ascending) whose blocks go to the neighbour in that direction, or come
    // from it, in step 1 to steps(). Both ends of a link have the same list.
    std::span<const int> out(int step, routing::Direction to) const {
        return lists_[0].at(step, to);
    }
    std::span<const int> in(int step, routing::Direction from) const {
        return lists_[1].at(step, from);
    }

  private:
    struct Lists {
        std::vector<int> origins;  // list after list
        std::vector<int> starts;   // by step and direction
        std::size_t directions = 0;
        std::span<const int> at(int step, routing::Direction direction) const {
            const auto which = std::size_t(step - 1) * directions + std::size_t(direction.index());
            return std::span(origins).subspan(std::size_t(starts[which]),
                                              std::size_t(starts[which + 1] - starts[which]));
        }
    };
    struct Entry {
        int list;
        int origin;
    };
    void fill(Lists& lists, std::vector<Entry>& entries) const;

    std::vector<routing::Direction> directions_;
    int steps_ = 0;
    Lists lists_[2];
};

}  // namespace torusmp::collectives
