// SPDX-License-Identifier: BSD-3-Clause
// What algorithms of the reduce-scatter share that run an allgather backwards, adding partial sums
// where blocks would part: a copy of the values, into which they are added.
#pragma once

#include <cstring>

#include "collectives/algorithm/block_moves.h"
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {

class Sums : public AlgorithmOf<Arguments, BlockMoves> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        std::byte* const sums = memory_.reserve(call_.bytes);
        if (call_.bytes > 0) std::memcpy(sums, call_.values, call_.bytes);
        use_blocks(sums, call_.blocks());
        steps_done_ = 0;
    }

  private:
    bool step() final {
        if (call_.bytes == 0) return false;
        // In the order in which the receives were posted, which is always the same.
        if (steps_done_ > 0)
            each_received([this](int member, const std::byte* values) {
                call_.operation.combine(block(member), values,
                                        blocks().size(member) / call_.operation.element,
                                        call_.operation.closure);
            });
        if (post(steps_done_++)) return true;
        const int member = group().member();
        if (const std::size_t bytes = blocks().size(member); bytes > 0)
            std::memcpy(call_.result, block(member), bytes);
        return false;
    }
    // Posts the messages of a step, counted from 0; false: all steps are done.
    virtual bool post(int step) = 0;

    Scratch memory_;
    int steps_done_ = 0;
};

}  // namespace torusmp::collectives::reduce_scatter
