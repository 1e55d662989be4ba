// Dimension by dimension, each slab by itself to the member of the line that it is for: fewest
// messages in a row.
#include <algorithm>
#include <utility>

#include "collectives/alltoall/lanes.h"

namespace torusmp::collectives::alltoall {
namespace {

class Lines final : public Lanes {
  public:
    using Lanes::Lanes;

    void start() override {
        most_ = 0;
        for (int d = 0; d < group().dimensions(); ++d)
            most_ = std::max(most_, std::size_t(group().extent(d)) * slab_size(d));
        lay_lanes(1, std::size_t(group().size()), 2 * most_);
    }

  private:
    int steps_in(int) const override { return 1; }

    void post_step(Lane& lane) override {
        const int d = dimension_of(lane);
        const int extent = group().extent(d);
        const int here = group().coordinate(d);
        const Cells slab{0, slab_size(d)};
        const std::size_t bytes = slab.size() * lane.width;
        std::byte* next = arrived(lane);
        for (int k = 1; k < extent; ++k, next += bytes)
            receive(lane.request + lane.receives++, {next, bytes},
                    group().line_rank(d, (here + extent - k) % extent));
        std::byte* packed = lane.slabs;
        for (int k = 1; k < extent; ++k) {
            const int c = (here + k) % extent;
            std::byte* const from = std::exchange(packed, pack(lane, c, slab, packed));
            send(lane.request + lane.sends++, {from, bytes}, group().line_rank(d, c));
        }
    }

    void take_step(const Lane& lane) override {
        const int d = dimension_of(lane);
        const int extent = group().extent(d);
        const int here = group().coordinate(d);
        const Cells slab{0, slab_size(d)};
        const std::byte* next = arrived(lane);
        for (int k = 1; k < extent; ++k, next += slab.size() * lane.width)
            unpack(lane, (here + extent - k) % extent, slab, next);
    }

    std::byte* arrived(const Lane& lane) const { return lane.slabs + most_ * lane.width; }

    std::size_t most_ = 0;  // cells that a line moves
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::alltoall
