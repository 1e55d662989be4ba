// SPDX-License-Identifier: BSD-3-Clause
// The base of allgather algorithms that proceed in steps: each step is a batch of blocks that are
// in place before the next step begins.
#pragma once

#include "collectives/algorithm/block_moves.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {

class BlockSteps : public AlgorithmOf<Arguments, BlockMoves> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() final {
        use_blocks(call_.in, call_.in_blocks, call_.own);
        posted_ = 0;
    }

  private:
    bool step() final {
        put_away();
        return post(posted_++);
    }
    // Posts the messages of a step, counted from 0; false if all steps are done.
    virtual bool post(int step) = 0;

    int posted_ = 0;
};

}  // namespace torusmp::collectives::allgather
