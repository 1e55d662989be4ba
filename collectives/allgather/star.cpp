// SPDX-License-Identifier: BSD-3-Clause
// Every member sends to the first one, which sends all blocks to every member: two steps.
#include "collectives/allgather/block_steps.h"

namespace torusmp::collectives::allgather {
namespace {

class Star final : public BlockSteps {
  public:
    using BlockSteps::BlockSteps;

  private:
    bool post(int step) override {
        const int size = group().size();
        const Places all(0, size);
        if (group().place() != 0) {
            if (step > 0) return false;
            // The blocks arrive only after this member's own block has been received, so they may
            // overwrite it.
            begin_batch(bytes_of(all));
            receive_blocks(all, to_place(0));
            send_blocks({group().place(), 1}, to_place(0));
        } else if (step == 0) {
            begin_batch(0);
            for (int p = 1; p < size; ++p) receive_blocks({p, 1}, to_place(p));
        } else if (step == 1) {
            begin_batch(bytes_of(all));
            const Load everything = load(all);
            for (int p = 1; p < size; ++p) send_load(everything, to_place(p));
        } else {
            return false;
        }
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> star = make_algorithm<Star>;

}  // namespace torusmp::collectives::allgather
