// SPDX-License-Identifier: BSD-3-Clause
// Vectors that travel along trees in segments, so that all levels of a tree, and all trees, work at
// the same time: the base of algorithms of broadcast, reduce and allreduce.
//
// Over one dimension-ordered tree a vector takes the fewest steps. Over the disjoint trees each
// tree carries a stripe of the vector, so that all links of all members carry data both ways. With
// as many trees as a member has links, an allreduce moves the minimum number of bytes over each
// link, plus the filling of the pipeline. Contributions are added in the order of a tree's
// children, so the bits are the same in every run with the same layout and root.
#pragma once

#include <vector>

#include "collectives/algorithm/algorithm.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {

class Pipeline : public Algorithm {
  protected:
    explicit Pipeline(Messages& messages) : Algorithm(messages) {}

    enum class Flow { down, up, up_and_down };  // broadcast, reduce, allreduce
    struct Plan {
        Flow flow = Flow::down;
        Routes::Trees trees = Routes::Trees::dimension_ordered;
        int root_place = 0;
        std::byte* buffer = nullptr;        // destination of the vector or the result
        const std::byte* values = nullptr;  // own contribution to a reduce; may be `buffer`
        std::size_t count = 0;              // elements
        Operation operation{};              // a broadcast uses only its `element`
    };
    // To be called in start(). For Flow::up `buffer` is used at the root only.
    void lay_pipeline(const Plan& plan);

  private:
    // The progress of a stream of segments between this member and another.
    struct Stream {
        routing::Direction direction;
        std::size_t request = 0;  // the first of `window`
        int number = 0;           // see the streams of Schedule
        std::size_t posted = 0;   // segments
        std::size_t done = 0;
        std::byte* slots = nullptr;  // receive slots for contributions, `window` segments
    };
    // One tree and its stripe of the vector.
    struct Stripe {
        std::size_t from = 0;     // first element of the stripe
        std::size_t count = 0;    // elements
        std::size_t segment = 0;  // elements
        std::size_t segments = 0;
        std::size_t folded = 0;  // segments to which all children have contributed
        std::byte* sums =
            nullptr;  // memory for the sums, `window` segments; null to use the buffer
        std::vector<Stream> from_children, to_parent;  // at most one parent
        std::vector<Stream> from_parent, to_children;
    };

    bool move() final;
    void lay_stripe(Stripe& stripe, const TreeLinks& links, int index);
    void lay_memory();
    bool move_up(Stripe& stripe);
    bool move_down(Stripe& stripe);
    bool gather_contributions(Stripe& stripe);
    void fold(Stripe& stripe);
    bool post_sends(Stream& stream, const Stripe& stripe, std::size_t up_to, bool sums);
    core::Buffer segment(std::byte* base, const Stripe& stripe, std::size_t index) const;
    std::byte* slot(std::byte* slots, const Stripe& stripe, std::size_t index) const;
    const std::byte* own(const Stripe& stripe, std::size_t index) const;
    std::byte* sum(const Stripe& stripe, std::size_t index) const;
    bool at_root() const { return group().place() == plan_.root_place; }

    Plan plan_;
    std::vector<Stripe> stripes_;
    std::size_t sends_ = 0;
    std::size_t receives_ = 0;
    Scratch scratch_;
};

}  // namespace torusmp::collectives
