// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its values where the root reads and adds them.
#include "collectives/algorithm/through_area.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::reduce, call_.root);
        bytes_ = call_.bytes();
    }

  private:
    bool move() override {
        if (member() != call_.root) return leave_copy_for(call_.root, call_.values, bytes_);
        if (!all_left(bytes_)) return false;
        if (bytes_ == 0) return true;
        const Group& grid = *call_.grid;
        const std::byte* own = call_.values;
        if (own == call_.result && grid.place() != 0) {  // others come first, in the same place
            std::byte* const copy = own_.reserve(bytes_);
            std::memcpy(copy, own, bytes_);
            own = copy;
        }
        fold_grid(grid, call_.operation, call_.result, call_.count,
                  [&](int from) { return from == member() ? own : left_by(from, bytes_); });
        return true;
    }

    std::size_t bytes_ = 0;
    Scratch own_;  // the root's values, if they are in the memory of the result
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::reduce
