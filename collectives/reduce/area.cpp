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
        added_ = 0;
        if (member() == call_.root) values_.assign(std::size_t(size()), Values{});
    }

  private:
    bool move() override {
        if (member() != call_.root)
            return give(call_.root, call_.values, bytes_, size() - 1) && transfers_ended();
        return find_values() && messages_ended() && add() && transfers_ended();
    }
    // Adds as much as there is of all. Returns true when that is the whole.
    bool add() {
        if (bytes_ == 0 || added_ == call_.count) return true;
        const std::size_t element = call_.operation.element;
        const std::size_t there = grown_of_all();
        if (there / element == added_ || (call_.operation.whole && there < bytes_)) return false;
        const Group& grid = *call_.grid;
        const std::byte* own = call_.values;
        if (own == call_.result && grid.place() > 1) {  // others come first, in the same place
            std::byte* const copy = own_.reserve(bytes_);
            if (added_ == 0) std::memcpy(copy, own, bytes_);
            own = copy;
        }
        const std::size_t at = added_ * element, count = there / element - added_;
        fold_grid(grid, call_.operation, call_.result + at, count, [&](int from) {
            return (from == member() ? own : values_[std::size_t(from)].at) + at;
        });
        added_ += count;
        return added_ == call_.count;
    }
    // How many bytes of the values of each member there are at least.
    std::size_t grown_of_all() {
        std::size_t there = bytes_;
        int slowest = member();
        for (int from = 0; from < size(); ++from) {
            if (!values_[std::size_t(from)].left) continue;
            const std::size_t bytes = grown(from, bytes_);
            if (bytes < there) slowest = from;
            there = std::min(there, bytes);
        }
        if (slowest != member()) await(slowest);
        return there;
    }
    bool find_values() {
        for (; next_ < size(); ++next_) {
            if (next_ == member()) continue;
            const Left left = left_where(next_, bytes_);
            if (left == Left::nothing) return false;
            Values& values = values_[std::size_t(next_)];
            values.left = left == Left::contents;
            if (values.left) {
                values.at = contents_of(next_, bytes_);
            } else if (left == Left::lent) {
                values.at = borrow(next_, bytes_);
                if (failed()) return false;
            } else {
                const std::size_t each = Scratch::rounded(bytes_);
                std::byte* const into =
                    sent_.reserve(each * std::size_t(size())) + each * std::size_t(next_);
                post_receive(next_, {into, bytes_});
                values.at = into;
            }
        }
        return true;
    }

    struct Values {
        const std::byte* at = nullptr;
        bool left = false;  // in the area, where they may still grow
    };
    std::size_t bytes_ = 0;
    int next_ = 0;                // the member whose values come next
    std::vector<Values> values_;  // at the root, by member
    std::size_t added_ = 0;       // elements
    Scratch sent_;                // values that come as messages
    Scratch own_;                 // the root's values, if they are in the memory of the result
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::reduce
