// SPDX-License-Identifier: BSD-3-Clause
// An allgather backwards: where blocks would part, partial sums come together. All links are busy,
// and only neighbours talk.
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
        // In a ring of two, what is sent by + arrives from -. So both ends post in the order of the
        // sends.
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
