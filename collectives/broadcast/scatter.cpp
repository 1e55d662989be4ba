// SPDX-License-Identifier: BSD-3-Clause
// The root deals out parts, which are then gathered: fewest bytes at any one member.
#include "collectives/algorithm/line_parts.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class Scatter final : public AlgorithmOf<Arguments, LineParts> {
  public:
    using AlgorithmOf::AlgorithmOf;

    // Parts are dealt out in descending order: this member's part arrives along the first dimension
    // in which it differs from the root.
    void start() override {
        root_place_ = group().place_of(call_.root);
        cut(group(), call_.buffer, call_.bytes, 1);
        from_ = 0;
        while (from_ < group().dimensions() && group().coordinate(from_) == at_root(from_)) ++from_;
        dimension_ = -1;
        phase_ = Phase::take;
    }

  private:
    bool step() override {
        if (phase_ == Phase::take) {
            phase_ = Phase::deal;
            if (from_ < group().dimensions()) {
                receive(part(from_, group().coordinate(from_)),
                        group().line_rank(from_, at_root(from_)));
                return true;
            }
        }
        if (phase_ == Phase::deal) {
            phase_ = Phase::collect;
            for (int d = from_; d-- > 0;)
                for (int k = 1; k < group().extent(d); ++k) {
                    const int c = (group().coordinate(d) + k) % group().extent(d);
                    send(part(d, c), group().line_rank(d, c));
                }
            return true;
        }
        if (++dimension_ == group().dimensions()) return false;
        collect(dimension_);
        return true;
    }
    int at_root(int dimension) const { return group().coordinate(root_place_, dimension); }

    int root_place_ = 0;
    enum class Phase { take, deal, collect };
    Phase phase_ = Phase::take;
    int from_ = 0;  // the dimension along which a part arrives; dimensions(): at the root
    int dimension_ = 0;
};

}  // namespace

extern AlgorithmMaker<Arguments> scatter = make_algorithm<Scatter>;

}  // namespace torusmp::collectives::broadcast
