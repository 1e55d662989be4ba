// SPDX-License-Identifier: BSD-3-Clause
// Dimension by dimension, each member exchanges everything it has with its whole line.
#include "collectives/allgather/block_steps.h"

namespace torusmp::collectives::allgather {
namespace {

class Lines final : public BlockSteps {
  public:
    using BlockSteps::BlockSteps;

  private:
    // The last dimension first, so that the blocks of a member are a range of places.
    bool post(int step) override {
        const int d = group().dimensions() - 1 - step;
        if (d < 0) return false;
        const int here = group().coordinate(d);
        const int extent = group().extent(d);
        std::size_t bytes = 0;
        for (int c = 0; c < extent; ++c) bytes += bytes_of(slab(d, c));
        begin_batch(bytes);
        for (int k = 1; k < extent; ++k) {
            const int c = (here + extent - k) % extent;
            receive_blocks(slab(d, c), {group().line_rank(d, c)});
        }
        const Load own = load(slab(d, here));
        for (int k = 1; k < extent; ++k)
            send_load(own, {group().line_rank(d, (here + k) % extent)});
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::allgather
