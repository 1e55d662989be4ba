// SPDX-License-Identifier: BSD-3-Clause
// Each line gathers the totals of its members, the last dimension first: fewest hops.
#include "collectives/scan/totals.h"

namespace torusmp::collectives::scan {
namespace {

class Lines final : public Totals {
  public:
    using Totals::Totals;

    void start() override {
        lay(group().longest());
        start_total();
        gathered_ = false;
        dimension_ = group().dimensions() - 1;
        ring_step_ = 0;
    }

  private:
    bool next() override {
        if (gathered_) fold_totals();
        gathered_ = false;
        if (dimension_ < 0) {
            if (any_before_ && inclusive()) combine(before_, call_.buffer);
            if (any_before_) copy(call_.buffer, before_);
            return false;
        }
        const int extent = group().extent(dimension_);
        if (group().direct() || extent == 2 || !group().torus().periodic(dimension_)) {
            exchange_line(group(), dimension_, vector(total_),
                          [this](int coordinate) { return vector(slot(coordinate)); });
            gathered_ = true;
        } else {
            post_ring_step();
            gathered_ = ring_step_ == extent / 2;
        }
        return true;
    }

    // Step k of a ring sends to each side the totals that came from the other side in step k - 1.
    void post_ring_step() {
        const int extent = group().extent(dimension_);
        const int here = group().coordinate(dimension_);
        const auto at = [&](int offset) { return (here + offset + 2 * extent) % extent; };
        const auto total_of = [&](int c) { return c == here ? total_ : slot(c); };
        const Rank up = group().line_rank(dimension_, at(+1));
        const Rank down = group().line_rank(dimension_, at(-1));

        const int k = ++ring_step_;
        const bool both_ways = 2 * k != extent;
        receive(vector(slot(at(-k))), down);
        if (both_ways) receive(vector(slot(at(+k))), up);
        send(vector(total_of(at(1 - k))), up);
        if (both_ways) send(vector(total_of(at(k - 1))), down);
    }

    // The totals of a line have arrived: combines the totals before this member, and those of the
    // whole line.
    void fold_totals() {
        const int here = group().coordinate(dimension_);
        std::byte* sum = here == 0 ? total_ : slot(0);
        for (int c = 1; c < group().extent(dimension_); ++c) {
            if (c == here) put_before(sum);
            combine(sum, c == here ? total_ : slot(c));
        }
        copy(total_, sum);
        --dimension_;
        ring_step_ = 0;
    }

    bool gathered_ = false;  // the totals of the line are complete
    int dimension_ = 0;
    int ring_step_ = 0;
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::scan
