// SPDX-License-Identifier: BSD-3-Clause
// Every member's block spreads over all links in parallel: all links are busy, and messages only
// cross one link.
#include "collectives/allgather/block_steps.h"
#include "collectives/group/bundles.h"

namespace torusmp::collectives::allgather {
namespace {

class Rings final : public BlockSteps {
  public:
    using BlockSteps::BlockSteps;

  private:
    bool post(int number) override {
        const Bundles& bundles = group().routes().bundles();
        const int step = number + 1;
        if (step > bundles.steps()) return false;
        begin_bundles(step);
        // In a ring of two, messages sent in direction + arrive from direction -. So both ends post
        // in the order of the sends.
        for (const auto direction : bundles.directions())
            receive_blocks(bundles.in(step, direction.opposite()), by(direction.opposite()));
        for (const auto direction : bundles.directions())
            send_blocks(bundles.out(step, direction), by(direction));
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> rings = make_algorithm<Rings>;

}  // namespace torusmp::collectives::allgather
