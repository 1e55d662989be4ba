// SPDX-License-Identifier: BSD-3-Clause
// A sum in which each member adds one part. Dimension by dimension, starting with the last, the
// members of a line exchange their parts of the range that the line owns (ranges.h). Reduce and
// allreduce of large vectors on one host begin this way.
#pragma once

#include "collectives/algorithm/line_parts.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {

class PartSums : public LineParts {
  protected:
    explicit PartSums(Messages& messages) : LineParts(messages) {}

    // Call this in start(). `values` is this member's contribution, which is only read. The sums
    // are written to `sums`, which may be the same memory, but only to the part that this member's
    // first line assigns to it.
    void begin_sums(Group& grid, const Operation& operation, const std::byte* values,
                    std::byte* sums, std::size_t count);
    // Posts the next line's exchange and adds the contributions of the previous one. Returns false
    // if this member's own part is complete, and nothing was posted.
    bool sum_lines();

  private:
    void post_parts();
    void add_parts();
    // What this member adds along the current line.
    const std::byte* contribution() const {
        return dimension_ + 1 == grid_->dimensions() ? values_ : sums_;
    }
    std::byte* slot(int coordinate) { return slots_ + slot_bytes_ * std::size_t(coordinate); }

    Group* grid_ = nullptr;
    Operation operation_{};
    const std::byte* values_ = nullptr;
    std::byte* sums_ = nullptr;
    int dimension_ = 0;    // the current line
    bool posted_ = false;  // its exchange is posted
    Scratch scratch_;      // the others' parts by coordinate
    std::byte* slots_ = nullptr;
    std::size_t slot_bytes_ = 0;
};

}  // namespace torusmp::collectives
