// SPDX-License-Identifier: BSD-3-Clause
// The root sends to its line, then each of these members to its next line: the shortest sequence of
// messages.
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class Lines final : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

    // Lines are served in ascending order: the vector arrives along the last dimension in which
    // this member differs from the root.
    void start() override {
        root_place_ = group().place_of(call_.root);
        from_ = group().dimensions() - 1;
        while (from_ >= 0 && group().coordinate(from_) == at_root(from_)) --from_;
        phase_ = Phase::take;
    }

  private:
    bool step() override {
        if (phase_ == Phase::take) {
            phase_ = Phase::deal;
            if (from_ >= 0) {
                receive(vector(), group().line_rank(from_, at_root(from_)));
                return true;
            }
        }
        if (phase_ != Phase::deal) return false;
        phase_ = Phase::end;
        for (int d = from_ + 1; d < group().dimensions(); ++d)
            for (int k = 1; k < group().extent(d); ++k)
                send(vector(),
                     group().line_rank(d, (group().coordinate(d) + k) % group().extent(d)));
        return true;
    }
    core::Buffer vector() const { return {call_.buffer, call_.bytes}; }
    int at_root(int dimension) const { return group().coordinate(root_place_, dimension); }

    int root_place_ = 0;
    enum class Phase { take, deal, end };
    Phase phase_ = Phase::end;
    int from_ = -1;  // the dimension along which it arrives; -1 if at the root
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::broadcast
