// SPDX-License-Identifier: BSD-3-Clause
// Along each line to its first member, and back from there: fewest messages, and a member that only
// contributes sleeps once.
#include "collectives/allreduce/line_sums.h"

namespace torusmp::collectives::allreduce {
namespace {

class Lines final : public LineSums {
  public:
    using LineSums::LineSums;

    void start() override {
        lay(call_.bytes(), grid().longest());
        phase_ = Phase::reduce;
    }

  private:
    bool step() override {
        if (phase_ == Phase::reduced) {  // the line's contributions have reached its first member
            fold(call_.result, call_.count);
            --dimension_;
            phase_ = Phase::reduce;
        }
        if (phase_ == Phase::reduce) {
            if (dimension_ >= 0 && grid().coordinate(dimension_) == 0) {
                for (int c = 1; c < grid().extent(dimension_); ++c)
                    receive({slot(c), bytes_}, grid().line_rank(dimension_, c));
                phase_ = Phase::reduced;
                return true;
            }
            phase_ = Phase::spread;
            if (dimension_ >= 0) {
                // The result arrives only after this member's contribution has been received, so it
                // may overwrite it.
                const Rank first = grid().line_rank(dimension_, 0);
                receive({call_.result, bytes_}, first);
                send({call_.result, bytes_}, first);
                return true;
            }
        }
        if (phase_ != Phase::spread) return false;
        for (int d = dimension_ + 1; d < grid().dimensions(); ++d)
            for (int c = 1; c < grid().extent(d); ++c)
                send({call_.result, bytes_}, grid().line_rank(d, c));
        phase_ = Phase::end;
        return true;
    }

    enum class Phase { reduce, reduced, spread, end };
    Phase phase_ = Phase::end;
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::allreduce
