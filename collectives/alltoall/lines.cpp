// SPDX-License-Identifier: BSD-3-Clause
// Dimension by dimension, each slab is sent directly to its member of the line: the shortest
// sequence of messages.
#include <algorithm>
#include <utility>

#include "collectives/alltoall/stripes.h"

namespace torusmp::collectives::alltoall {
namespace {

class Lines final : public Stripes {
  public:
    using Stripes::Stripes;

    void start() override {
        most_ = 0;
        for (int d = 0; d < group().dimensions(); ++d)
            most_ = std::max(most_, std::size_t(group().extent(d)) * slab_size(d));
        lay_stripes(1, std::size_t(group().size()), 2 * most_);
    }

  private:
    int steps_in(int) const override { return 1; }

    void post_step(Stripe& stripe) override {
        const int d = dimension_of(stripe);
        const int extent = group().extent(d);
        const int here = group().coordinate(d);
        const Cells slab{0, slab_size(d)};
        const std::size_t bytes = slab.size() * stripe.width;
        std::byte* next = arrived(stripe);
        for (int k = 1; k < extent; ++k, next += bytes)
            receive(stripe.request + stripe.receives++, {next, bytes},
                    group().line_rank(d, (here + extent - k) % extent));
        std::byte* packed = stripe.slabs;
        for (int k = 1; k < extent; ++k) {
            const int c = (here + k) % extent;
            std::byte* const from = std::exchange(packed, pack(stripe, c, slab, packed));
            send(stripe.request + stripe.sends++, {from, bytes}, group().line_rank(d, c));
        }
    }

    void take_step(const Stripe& stripe) override {
        const int d = dimension_of(stripe);
        const int extent = group().extent(d);
        const int here = group().coordinate(d);
        const Cells slab{0, slab_size(d)};
        const std::byte* next = arrived(stripe);
        for (int k = 1; k < extent; ++k, next += slab.size() * stripe.width)
            unpack(stripe, (here + extent - k) % extent, slab, next);
    }

    std::byte* arrived(const Stripe& stripe) const { return stripe.slabs + most_ * stripe.width; }

    std::size_t most_ = 0;  // cells that a line moves
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::alltoall
