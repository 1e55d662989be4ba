// SPDX-License-Identifier: BSD-3-Clause
// The base of reduce-scatter algorithms that run an allgather in reverse, adding partial sums where
// blocks would branch.
#pragma once

#include <cstring>

#include "collectives/algorithm/block_moves.h"
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {

class Sums : public AlgorithmOf<Arguments, BlockMoves> {
  public:
    using AlgorithmOf::AlgorithmOf;

    // Until begin_sums(), the blocks that are sent are the member's values.
    void start() override {
        use_blocks(const_cast<std::byte*>(call_.values), call_.blocks());
        own_ = block(group().member());
        steps_done_ = 0;
    }

  protected:
    // From now on the blocks of these places are partial sums: a copy of the values, to which
    // received blocks are added. The own block uses the result as its copy, unless the result lies
    // among the values, which are still being sent.
    void begin_sums(Places places) {
        const int member = group().member();
        std::byte* const sums = memory_.reserve(call_.bytes);
        own_ = call_.is_apart(member) ? call_.result : sums + blocks().offset(member);
        for (int i = 0; i < places.count(); ++i) {
            const int each = group().member_at(places[i]);
            const std::size_t offset = blocks().offset(each);
            if (const std::size_t bytes = blocks().size(each); bytes > 0)
                std::memcpy(each == member ? own_ : sums + offset, call_.values + offset, bytes);
        }
        move_blocks(sums);
    }

  private:
    std::byte* sum_of(int member) const {
        return member == group().member() ? own_ : block(member);
    }
    bool step() final {
        if (call_.bytes == 0) return false;
        // In the order in which the receives were posted, which is always the same.
        if (steps_done_ > 0)
            each_received([this](int member, const std::byte* values) {
                call_.operation.combine(sum_of(member), sum_of(member), values,
                                        blocks().size(member) / call_.operation.element,
                                        call_.operation.closure);
            });
        if (post(steps_done_++)) return true;
        const int member = group().member();
        if (const std::size_t bytes = blocks().size(member); bytes > 0 && own_ != call_.result)
            std::memcpy(call_.result, own_, bytes);
        return false;
    }
    // Posts the messages of a step, counted from 0; false if all steps are done.
    virtual bool post(int step) = 0;

    Scratch memory_;
    std::byte* own_ = nullptr;  // the sum of the own block
    int steps_done_ = 0;
};

}  // namespace torusmp::collectives::reduce_scatter
