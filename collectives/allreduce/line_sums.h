// SPDX-License-Identifier: BSD-3-Clause
// The base of allreduce algorithms that go line by line, the last dimension first. The
// contributions of a line are kept in slots by coordinate.
#pragma once

#include <cstring>

#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {

class LineSums : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

  protected:
    Group& grid() const { return *call_.grid; }
    // To be called in start(): the size and the number of slots. Copies this member's contribution
    // to where the result will be.
    void lay(std::size_t slot_bytes, int slots) {
        bytes_ = call_.bytes();
        if (call_.values != call_.result && bytes_ != 0)
            std::memcpy(call_.result, call_.values, bytes_);
        slot_bytes_ = Scratch::rounded(slot_bytes);
        slots_ = scratch_.reserve(slot_bytes_ * std::size_t(slots));
        dimension_ = grid().dimensions() - 1;
    }
    std::byte* slot(int index) { return slots_ + slot_bytes_ * std::size_t(index); }
    // Adds the contributions of a line in the order of their coordinates into `own`, which holds
    // this member's contribution; the others are in the slots.
    void fold(std::byte* own, std::size_t count) {
        if (count == 0 || bytes_ == 0) return;
        fold_line(call_.operation, own, own, grid().coordinate(dimension_), slots_, slot_bytes_,
                  grid().extent(dimension_), count);
    }

    std::size_t bytes_ = 0;
    int dimension_ = 0;  // the current line

  private:
    Scratch scratch_;
    std::byte* slots_ = nullptr;
    std::size_t slot_bytes_ = 0;
};

}  // namespace torusmp::collectives::allreduce
