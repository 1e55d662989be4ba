// SPDX-License-Identifier: BSD-3-Clause
// The reverse of an allgather: where blocks would branch, partial sums are combined. All links are
// busy, and messages only cross one link.
#include "collectives/group/bundles.h"
#include "collectives/reduce_scatter/sums.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

class Rings final : public Sums {
  public:
    using Sums::Sums;

  private:
    bool post(int number) override {
        const Bundles& bundles = group().routes().bundles();
        const int step = bundles.steps() - number;
        if (number == 0) begin_sums({0, group().size()});
        if (step == 0) return false;
        begin_bundles(step);
        // In a ring of two, messages sent in direction + arrive from direction -. So both ends post
        // in the order of the sends.
        for (const auto direction : bundles.directions())
            receive_apart(bundles.out(step, direction.opposite()), by(direction.opposite()));
        for (const auto direction : bundles.directions())
            send_blocks(bundles.in(step, direction), by(direction));
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> rings = make_algorithm<Rings>;

}  // namespace torusmp::collectives::reduce_scatter
