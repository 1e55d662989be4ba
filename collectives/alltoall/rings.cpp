// SPDX-License-Identifier: BSD-3-Clause
// Dimension by dimension from neighbour to neighbour; slabs with the same direction travel
// together. Parts of the blocks begin with different dimensions, so that all links are busy.
//
// In step s the slabs arrive that began s steps away; all but the nearest are forwarded.
#include <algorithm>

#include "collectives/alltoall/stripes.h"

namespace torusmp::collectives::alltoall {
namespace {

// Up to this many bytes in all, fewer messages matter more than busy links.
constexpr std::size_t one_stripe_up_to = 8 * 1024;

class Rings final : public Stripes {
  public:
    using Stripes::Stripes;

    void start() override {
        const bool one = group().dimensions() < 2 ||
                         block_bytes() * std::size_t(group().size()) <= one_stripe_up_to;
        most_ = 0;
        for (int d = 0; d < group().dimensions(); ++d)
            most_ = std::max(most_, std::size_t(steps_in(d)) * slab_size(d));
        lay_stripes(one ? 1 : std::size_t(group().dimensions()), 2, 6 * most_);
    }

  private:
    // The memory of each direction of a ring holds this member's own slabs, the nearest first, and
    // the slabs that arrive in even and in odd steps, the slab for this member first.
    std::byte* packed(const Stripe& stripe, int sign) const {
        return stripe.slabs + (sign > 0 ? 0 : 3) * most_ * stripe.width;
    }
    std::byte* arrived(const Stripe& stripe, int sign, int step) const {
        return packed(stripe, sign) + std::size_t(1 + step % 2) * most_ * stripe.width;
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

    // The number of steps that the slabs of a member at this coordinate travel in this direction.
    int reach(int dimension, int coordinate, int sign) const {
        const int extent = group().extent(dimension);
        if (group().torus().periodic(dimension)) return extent / 2;
        return sign > 0 ? extent - 1 - coordinate : coordinate;
    }

    // The part of a slab that travels in this direction from its origin (a coordinate) over that
    // distance: all of it, or half if both directions are equally long.
    Cells cells_of(int dimension, int origin, int distance, int sign) const {
        const std::size_t all = slab_size(dimension);
        const int extent = group().extent(dimension);
        if (!group().torus().periodic(dimension) || 2 * distance != extent) return {0, all};
        // The direction of the odd cell alternates from member to member.
        int sum = origin;
        for (int d = 0; d < group().dimensions(); ++d)
            if (d != dimension) sum += group().coordinate(d);
        const std::size_t middle = (all + std::size_t(sum % 2)) / 2;
        return sign > 0 ? Cells{0, middle} : Cells{middle, all};
    }

    // The number of cells, of all slabs of an origin, that travel at least this far.
    std::size_t cells_beyond(int dimension, int origin, int distance, int sign) const {
        std::size_t cells = 0;
        for (int k = distance; k <= reach(dimension, origin, sign); ++k)
            cells += cells_of(dimension, origin, k, sign).size();
        return cells;
    }

    void enter_dimension(const Stripe& stripe) override {
        const int d = dimension_of(stripe);
        const int here = group().coordinate(d);
        for (const int sign : {+1, -1}) {
            std::byte* next = packed(stripe, sign);
            for (int k = 1; k <= reach(d, here, sign); ++k)
                next = pack(stripe, coordinate_at(d, sign * k), cells_of(d, here, k, sign), next);
        }
    }

    // Arrivals from one direction are announced over the link on which the other direction begins:
    // queued behind outgoing slabs, an announcement would reach the neighbour only after they have
    // crossed that link.
    void post_step(Stripe& stripe) override {
        for (const int sign : {+1, -1}) post_receive(stripe, sign);
        for (const int sign : {+1, -1}) post_send(stripe, sign);
    }

    static int stream_of(const Stripe& stripe, int sign) {
        return stripe.index * 2 + (sign > 0 ? 0 : 1);
    }

    void post_receive(Stripe& stripe, int sign) {
        const int d = dimension_of(stripe);
        const int s = stripe.step;
        if (const int origin = coordinate_at(d, -sign * s); origin >= 0)
            if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0)
                receive_by(stripe.request + stripe.receives++, {d, -sign},
                           {arrived(stripe, sign, s), cells * stripe.width},
                           stream_of(stripe, sign));
    }

    void post_send(Stripe& stripe, int sign) {
        const int d = dimension_of(stripe);
        const int s = stripe.step;
        if (const int origin = coordinate_at(d, -sign * (s - 1)); origin >= 0)
            if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0) {
                std::byte* from = packed(stripe, sign);
                if (s > 1)
                    from = arrived(stripe, sign, s - 1) +
                           cells_of(d, origin, s - 1, sign).size() * stripe.width;
                send_by(stripe.request + stripe.sends++, {d, sign}, {from, cells * stripe.width},
                        stream_of(stripe, sign));
            }
    }

    void take_step(const Stripe& stripe) override {
        const int d = dimension_of(stripe);
        for (const int sign : {+1, -1}) {
            const int origin = coordinate_at(d, -sign * stripe.step);
            if (origin >= 0 && stripe.step <= reach(d, origin, sign))
                unpack(stripe, origin, cells_of(d, origin, stripe.step, sign),
                       arrived(stripe, sign, stripe.step));
        }
    }

    std::size_t most_ = 0;  // cells that go one way round a ring
};

}  // namespace

extern AlgorithmMaker<Arguments> rings = make_algorithm<Rings>;

}  // namespace torusmp::collectives::alltoall
