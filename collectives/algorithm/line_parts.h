// SPDX-License-Identifier: BSD-3-Clause
// A vector whose parts are owned by the members of each line (ranges.h). On one host, broadcast and
// allreduce of large vectors end with every member collecting all parts.
#pragma once

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/ranges.h"

namespace torusmp::collectives {

class LineParts : public Algorithm {
  protected:
    explicit LineParts(Messages& messages) : Algorithm(messages) {}

    // To be called in start(): `count` elements over this grid.
    void cut(Group& grid, std::byte* base, std::size_t count, std::size_t element) {
        grid_ = &grid;
        base_ = base;
        element_ = element;
        ranges_.cut(grid, count);
    }
    // The part owned by the member at a coordinate, within the range that its line owns along a
    // dimension.
    core::Buffer part(int dimension, int coordinate) const {
        const Range range = ranges_.line(dimension).part(coordinate, grid_->extent(dimension));
        return {base_ + range.from * element_, range.size() * element_};
    }
    // Posts an exchange in which every member of the line sends its part to all others.
    void collect(int dimension) {
        exchange_line(*grid_, dimension, part(dimension, grid_->coordinate(dimension)),
                      [&](int coordinate) { return part(dimension, coordinate); });
    }

  private:
    Group* grid_ = nullptr;
    std::byte* base_ = nullptr;
    std::size_t element_ = 1;
    Ranges ranges_;
};

}  // namespace torusmp::collectives
