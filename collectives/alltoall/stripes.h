// SPDX-License-Identifier: BSD-3-Clause
// The base of alltoall algorithms that go dimension by dimension: each stripe takes one part of
// every block through all dimensions.
#pragma once

#include <vector>

#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {

class Stripes : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

  protected:
    // One cell for each block's part, indexed by place. In a completed dimension the coordinate is
    // the source's, in the others the destination's. A slab is the cells of one coordinate.
    struct Cells {
        std::size_t from = 0;
        std::size_t to = 0;
        std::size_t size() const { return to - from; }
    };
    struct Stripe {
        int index = 0;         // index of the stripe, and the dimension it begins with
        std::size_t from = 0;  // it has bytes [from, from + width) of every block
        std::size_t width = 0;
        std::byte* cells = nullptr;
        std::byte* slabs = nullptr;  // in flight
        int phase = -1;              // dimensions done
        int step = 0;                // in this dimension
        bool done = false;
        std::size_t request = 0;  // its first request of each kind, and how many are in use
        std::size_t sends = 0;
        std::size_t receives = 0;
    };
    // To be called in start(): the number of stripes, the number of requests of each kind per
    // stripe, and the number of cells of its slabs in flight.
    void lay_stripes(std::size_t count, std::size_t requests, std::size_t room);
    std::size_t block_bytes() const { return call_.out_blocks.size(0); }

    int dimension_of(const Stripe& stripe) const {
        return (stripe.index + stripe.phase) % group().dimensions();
    }
    std::size_t slab_size(int dimension) const {
        return std::size_t(group().size() / group().extent(dimension));
    }
    // Copies some cells of a coordinate's slab, in the current dimension, out of the stripe's cells
    // and returns the end of the packed data; unpack() copies them back.
    std::byte* pack(const Stripe& stripe, int coordinate, Cells cells, std::byte* to) const;
    void unpack(const Stripe& stripe, int coordinate, Cells cells, const std::byte* from) const;

  private:
    virtual int steps_in(int dimension) const = 0;
    // Called when a stripe enters a dimension, begins a step of it, and has all messages of a step.
    virtual void enter_dimension(const Stripe&) {}
    virtual void post_step(Stripe& stripe) = 0;
    virtual void take_step(const Stripe& stripe) = 0;

    bool move() final;
    bool move_stripe(Stripe& stripe);
    bool step_complete(const Stripe& stripe);
    bool next_step(Stripe& stripe);
    void collect(const Stripe& stripe);
    void deliver(const Stripe& stripe);
    template <class Use>
    void each_run(const Stripe& stripe, int coordinate, Cells cells, Use&& use) const;

    std::vector<Stripe> stripes_;
    Scratch scratch_;
};

}  // namespace torusmp::collectives::alltoall
