// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/part_sums.h"

#include <cstring>

namespace torusmp::collectives {

void PartSums::begin_sums(Group& grid, const Operation& operation, const std::byte* values,
                          std::byte* sums, std::size_t count) {
    grid_ = &grid;
    operation_ = operation;
    values_ = values;
    sums_ = sums;
    cut(grid, sums, count, operation.element);
    // A part is at most half of the vector, rounded up.
    slot_bytes_ = Scratch::rounded((count / 2 + 1) * operation.element);
    slots_ = scratch_.reserve(slot_bytes_ * std::size_t(grid.longest()));
    dimension_ = grid.dimensions() - 1;
    posted_ = false;
    if (grid.dimensions() == 0 && sums != values && count != 0)  // no other member contributes
        std::memcpy(sums, values, count * operation.element);
}

bool PartSums::sum_lines() {
    if (posted_) {
        add_parts();
        --dimension_;
    }
    posted_ = dimension_ >= 0;
    if (posted_) post_parts();
    return posted_;
}

// Each member of the line receives its part of the line's range from all others.
void PartSums::post_parts() {
    const int extent = grid_->extent(dimension_);
    const int here = grid_->coordinate(dimension_);
    const core::Buffer own = part(dimension_, here);
    const std::byte* const from = contribution();
    for (int k = 1; k < extent; ++k) {
        const int c = (here + extent - k) % extent;
        receive({slot(c), own.bytes}, grid_->line_rank(dimension_, c));
    }
    for (int k = 1; k < extent; ++k) {
        const int c = (here + k) % extent;
        const core::Buffer theirs = part(dimension_, c);
        send({const_cast<std::byte*>(from) + (theirs.base - sums_), theirs.bytes},
             grid_->line_rank(dimension_, c));
    }
}

// In the order of the coordinates.
void PartSums::add_parts() {
    const int here = grid_->coordinate(dimension_);
    const core::Buffer own = part(dimension_, here);
    if (own.bytes != 0)
        fold_line(operation_, own.base, contribution() + (own.base - sums_), here, slots_,
                  slot_bytes_, grid_->extent(dimension_), own.bytes / operation_.element);
}

}  // namespace torusmp::collectives
