// An allgather backwards: where blocks parted, partial sums come together over the links, all at
// once. All links busy, only neighbours talk.
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
        if (step == 0) return false;
        begin_bundles(step);
        // In a ring of two what is sent by + comes from -: the order of both ends is that of
        // sending.
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
