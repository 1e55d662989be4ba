// SPDX-License-Identifier: BSD-3-Clause
// Every member sends its block to every other: one step.
#include "collectives/allgather/block_steps.h"

namespace torusmp::collectives::allgather {
namespace {

class Everyone final : public BlockSteps {
  public:
    using BlockSteps::BlockSteps;

  private:
    bool post(int step) override {
        if (step > 0) return false;
        const int size = group().size();
        const int place = group().place();
        begin_batch(0);  // a single block is never packed
        for (int k = 1; k < size; ++k) {
            const int from = (place + size - k) % size;
            receive_blocks({from, 1}, to_place(from));
        }
        const Load own = load({place, 1});
        for (int k = 1; k < size; ++k) send_load(own, to_place((place + k) % size));
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> everyone = make_algorithm<Everyone>;

}  // namespace torusmp::collectives::allgather
