// SPDX-License-Identifier: BSD-3-Clause
// Each member adds one part of the vector, then the parts are gathered: least bytes.
#include "collectives/allreduce/line_sums.h"

namespace torusmp::collectives::allreduce {
namespace {

class Scatter final : public LineSums {
  public:
    using LineSums::LineSums;

    void start() override {
        const std::size_t element = call_.operation.element;
        cut(grid(), call_.buffer, call_.count, element);
        lay((call_.count / 2 + 1) * element, grid().longest());  // a part is at most half
        phase_ = Phase::reduce;
    }

  private:
    bool step() override {
        if (phase_ == Phase::reduced) {
            const core::Buffer own = part(dimension_, grid().coordinate(dimension_));
            if (own.bytes != 0) fold(own.base, own.bytes / call_.operation.element);
            --dimension_;
            phase_ = Phase::reduce;
        }
        if (phase_ == Phase::reduce && dimension_ >= 0) {
            post_parts();
            phase_ = Phase::reduced;
            return true;
        }
        phase_ = Phase::spread;
        if (++dimension_ == grid().dimensions()) return false;
        collect(dimension_);
        return true;
    }

    // Every member of the line gets its part of what the line owns, from all others.
    void post_parts() {
        const int extent = grid().extent(dimension_);
        const int here = grid().coordinate(dimension_);
        const std::size_t own = part(dimension_, here).bytes;
        for (int k = 1; k < extent; ++k) {
            const int from = (here + extent - k) % extent;
            receive({slot(from), own}, grid().line_rank(dimension_, from));
        }
        for (int k = 1; k < extent; ++k) {
            const int to = (here + k) % extent;
            send(part(dimension_, to), grid().line_rank(dimension_, to));
        }
    }

    enum class Phase { reduce, reduced, spread };
    Phase phase_ = Phase::reduce;
};

}  // namespace

extern AlgorithmMaker<Arguments> scatter = make_algorithm<Scatter>;

}  // namespace torusmp::collectives::allreduce
