// SPDX-License-Identifier: BSD-3-Clause
// Every member sends to the first one, which adds and sends back: two steps.
#include <cstring>

#include "collectives/allreduce/line_sums.h"

namespace torusmp::collectives::allreduce {
namespace {

class Star final : public LineSums {
  public:
    using LineSums::LineSums;

    // Only the first member gathers.
    void start() override {
        lay(call_.bytes(), grid().place() == 0 ? grid().size() : 0);
        phase_ = Phase::post;
    }

  private:
    bool step() override {
        const auto rank_at = [this](int place) { return grid().rank_of(grid().member_at(place)); };
        if (phase_ == Phase::post && grid().place() != 0) {
            // The result arrives only after this member's contribution has been received, so it may
            // overwrite it.
            receive({call_.result, bytes_}, rank_at(0));
            send({call_.result, bytes_}, rank_at(0));
            phase_ = Phase::end;
            return true;
        }
        if (phase_ == Phase::post) {
            for (int p = 1; p < grid().size(); ++p) receive({slot(p), bytes_}, rank_at(p));
            phase_ = Phase::answer;
            return true;
        }
        if (phase_ != Phase::answer) return false;
        fold_all();
        for (int p = 1; p < grid().size(); ++p) send({call_.result, bytes_}, rank_at(p));
        phase_ = Phase::end;
        return true;
    }

    // Adds the contributions in the slots, here ordered by place, into the buffer.
    void fold_all() {
        if (bytes_ == 0) return;
        const Operation& operation = call_.operation;
        std::memcpy(slot(grid().place()), call_.result, bytes_);
        // The last dimension is the fastest: its lines are runs of places, whose sums form the
        // places of a grid without that dimension.
        for (int d = grid().dimensions() - 1, left = grid().size(); d >= 0; --d) {
            const int extent = grid().extent(d);
            left /= extent;
            for (int line = 0; line < left; ++line) {
                for (int c = 1; c < extent; ++c)
                    operation.combine(slot(line * extent), slot(line * extent),
                                      slot(line * extent + c), call_.count, operation.closure);
                if (line != 0) std::memcpy(slot(line), slot(line * extent), bytes_);
            }
        }
        std::memcpy(call_.result, slot(0), bytes_);
    }

    enum class Phase { post, answer, end };
    Phase phase_ = Phase::end;
};

}  // namespace

extern AlgorithmMaker<Arguments> star = make_algorithm<Star>;

}  // namespace torusmp::collectives::allreduce
