// SPDX-License-Identifier: BSD-3-Clause
// Each member adds one part of the vector, then the root gathers the parts: all members add at the
// same time.
#include "collectives/algorithm/part_sums.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

class Scatter final : public AlgorithmOf<Arguments, PartSums> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        sums_ = at_root() ? call_.result : memory_.reserve(call_.bytes());
        begin_sums(*call_.grid, call_.operation, call_.values, sums_, call_.count);
        phase_ = Phase::sum;
    }

  private:
    bool step() override {
        if (phase_ == Phase::sum) {
            if (sum_lines()) return true;
            phase_ = Phase::end;
            gather();
            return true;
        }
        return false;
    }

    void gather() {
        const Group& grid = *call_.grid;
        if (!at_root()) {
            const core::Buffer own = owned_by(grid.place());
            if (own.bytes != 0) send(own, group().rank_of(call_.root));
            return;
        }
        for (int k = 1; k < grid.size(); ++k) {
            const int place = (grid.place() + k) % grid.size();
            const core::Buffer theirs = owned_by(place);
            if (theirs.bytes != 0) receive(theirs, grid.rank_of(grid.member_at(place)));
        }
    }
    core::Buffer owned_by(int place) const {
        const std::size_t element = call_.operation.element;
        const Range range = Ranges::owned(*call_.grid, place, call_.count);
        return {sums_ + range.from * element, range.size() * element};
    }
    bool at_root() const { return group().member() == call_.root; }

    enum class Phase { sum, end };
    Phase phase_ = Phase::end;
    std::byte* sums_ = nullptr;
    Scratch memory_;  // for the sums, if the result is not wanted here
};

}  // namespace

extern AlgorithmMaker<Arguments> scatter = make_algorithm<Scatter>;

}  // namespace torusmp::collectives::reduce
