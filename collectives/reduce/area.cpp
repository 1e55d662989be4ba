// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its values where the root reads and adds them, or sends them if the root has
// them sooner that way.
#include <vector>

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
        next_ = 0;
        if (member() == call_.root) values_.assign(std::size_t(size()), nullptr);
    }

  private:
    bool move() override {
        if (member() != call_.root)
            return give(call_.root, call_.values, bytes_, size() - 1) && messages_ended();
        if (!find_values() || !messages_ended()) return false;
        if (bytes_ == 0) return true;
        const Group& grid = *call_.grid;
        const std::byte* own = call_.values;
        if (own == call_.result && grid.place() > 1) {  // others come first, in the same place
            std::byte* const copy = own_.reserve(bytes_);
            std::memcpy(copy, own, bytes_);
            own = copy;
        }
        fold_grid(grid, call_.operation, call_.result, call_.count,
                  [&](int from) { return from == member() ? own : values_[std::size_t(from)]; });
        return true;
    }
    bool find_values() {
        for (; next_ < size(); ++next_) {
            if (next_ == member()) continue;
            const Left left = left_where(next_, bytes_);
            if (left == Left::nothing) return false;
            const std::byte*& values = values_[std::size_t(next_)];
            if (left == Left::contents) {
                values = contents_of(next_, bytes_);
            } else {
                const std::size_t each = Scratch::rounded(bytes_);
                std::byte* const into =
                    sent_.reserve(each * std::size_t(size())) + each * std::size_t(next_);
                post_receive(next_, {into, bytes_});
                values = into;
            }
        }
        return true;
    }

    std::size_t bytes_ = 0;
    int next_ = 0;                          // the member whose values come next
    std::vector<const std::byte*> values_;  // at the root, by member
    Scratch sent_;                          // values that come as messages
    Scratch own_;  // the root's values, if they are in the memory of the result
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::reduce
