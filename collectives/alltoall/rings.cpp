// Dimension by dimension from neighbour to neighbour, what goes the same way together. Parts of the
// blocks begin with different dimensions, so that all links are busy.
//
// In step s arrives what began s steps away; all but the nearest slab goes on.
#include <algorithm>

#include "collectives/alltoall/lanes.h"

namespace torusmp::collectives::alltoall {
namespace {

// Up to this many bytes to all others the number of messages counts for more than busy links.
constexpr std::size_t one_lane_up_to = 8 * 1024;

class Rings final : public Lanes {
  public:
    using Lanes::Lanes;

    void start() override {
        const bool one = group().dimensions() < 2 ||
                         block_bytes() * std::size_t(group().size()) <= one_lane_up_to;
        most_ = 0;
        for (int d = 0; d < group().dimensions(); ++d)
            most_ = std::max(most_, std::size_t(steps_in(d)) * slab_size(d));
        lay_lanes(one ? 1 : std::size_t(group().dimensions()), 2, 6 * most_);
    }

  private:
    // Each way round a ring has memory for its own slabs, the nearest first, and by step for what
    // comes by, the slab for us first.
    std::byte* packed(const Lane& lane, int sign) const {
        return lane.slabs + (sign > 0 ? 0 : 3) * most_ * lane.width;
    }
    std::byte* arrived(const Lane& lane, int sign, int step) const {
        return packed(lane, sign) + std::size_t(1 + step % 2) * most_ * lane.width;
    }

    int coordinate_at(int dimension, int offset) const {
        const int extent = group().extent(dimension);
        const int coordinate = group().coordinate(dimension) + offset;
        if (group().torus().periodic(dimension)) return (coordinate + extent) % extent;
        return coordinate >= 0 && coordinate < extent ? coordinate : -1;
    }

    int steps_in(int dimension) const override {
        const int extent = group().extent(dimension);
        return group().torus().periodic(dimension) ? extent / 2 : extent - 1;
    }

    // How far the slabs of a member at this coordinate go this way.
    int reach(int dimension, int coordinate, int sign) const {
        const int extent = group().extent(dimension);
        if (group().torus().periodic(dimension)) return extent / 2;
        return sign > 0 ? extent - 1 - coordinate : coordinate;
    }

    // The part of a slab that goes this way from its origin, a coordinate, over that distance: all
    // of it, or one half where both ways are equally long.
    Cells cells_of(int dimension, int origin, int distance, int sign) const {
        const std::size_t all = slab_size(dimension);
        const int extent = group().extent(dimension);
        if (!group().torus().periodic(dimension) || 2 * distance != extent) return {0, all};
        // The odd cell goes another way from one member to the next.
        int sum = origin;
        for (int d = 0; d < group().dimensions(); ++d)
            if (d != dimension) sum += group().coordinate(d);
        const std::size_t middle = (all + std::size_t(sum % 2)) / 2;
        return sign > 0 ? Cells{0, middle} : Cells{middle, all};
    }

    // Of all slabs of an origin that go at least so far.
    std::size_t cells_beyond(int dimension, int origin, int distance, int sign) const {
        std::size_t cells = 0;
        for (int k = distance; k <= reach(dimension, origin, sign); ++k)
            cells += cells_of(dimension, origin, k, sign).size();
        return cells;
    }

    void enter_dimension(const Lane& lane) override {
        const int d = dimension_of(lane);
        const int here = group().coordinate(d);
        for (const int sign : {+1, -1}) {
            std::byte* next = packed(lane, sign);
            for (int k = 1; k <= reach(d, here, sign); ++k)
                next = pack(lane, coordinate_at(d, sign * k), cells_of(d, here, k, sign), next);
        }
    }

    void post_step(Lane& lane) override {
        for (const int sign : {+1, -1}) post_way(lane, sign);
    }

    void post_way(Lane& lane, int sign) {
        const int d = dimension_of(lane);
        const int s = lane.step;
        const int stream = lane.index * 2 + (sign > 0 ? 0 : 1);
        if (const int origin = coordinate_at(d, -sign * s); origin >= 0)
            if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0)
                receive_by(lane.request + lane.receives++, {d, -sign},
                           {arrived(lane, sign, s), cells * lane.width}, stream);
        if (const int origin = coordinate_at(d, -sign * (s - 1)); origin >= 0)
            if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0) {
                std::byte* from = packed(lane, sign);
                if (s > 1)
                    from = arrived(lane, sign, s - 1) +
                           cells_of(d, origin, s - 1, sign).size() * lane.width;
                send_by(lane.request + lane.sends++, {d, sign}, {from, cells * lane.width}, stream);
            }
    }

    void take_step(const Lane& lane) override {
        const int d = dimension_of(lane);
        for (const int sign : {+1, -1}) {
            const int origin = coordinate_at(d, -sign * lane.step);
            if (origin >= 0 && lane.step <= reach(d, origin, sign))
                unpack(lane, origin, cells_of(d, origin, lane.step, sign),
                       arrived(lane, sign, lane.step));
        }
    }

    std::size_t most_ = 0;  // cells that go one way round a ring
};

}  // namespace

extern AlgorithmMaker<Arguments> rings = make_algorithm<Rings>;

}  // namespace torusmp::collectives::alltoall
