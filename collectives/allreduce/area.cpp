// SPDX-License-Identifier: BSD-3-Clause
// If the members are few and have a core each, every member leaves its values in the area and adds
// the values of all. Otherwise the first member adds them and leaves the sum: ranks that share
// cores run in turns, so this takes no longer, and each value is added once. Short values are added
// by every member there, too: with one turn of its own each has what it needs, whereas the first
// member may have its turn before others on its core have left theirs, and all lose a turn. (A
// barrier has nothing to add. The first member leaves it first, which suits the roots of what
// follows.)
#include <utility>
#include <vector>

#include "collectives/algorithm/through_area.h"
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

// Up to this many members, every member adds all values.
constexpr int few = 8;

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::allreduce);
        bytes_ = call_.bytes();
        first_ = grid().member_at(0);
        const bool is_short = bytes_ != 0 && bytes_ <= Area::short_bytes;
        each_adds_ = size() <= few && (group().situation() == Situation::host || is_short);
        added_ = false;
        values_.clear();
        if (each_adds_ && lends(Area::all, bytes_, bytes_))
            values_.assign(std::size_t(size()), nullptr);
    }

  private:
    Group& grid() const { return *call_.grid; }

    bool move() override {
        if (!values_.empty()) return add_lent();
        if (each_adds_) {
            if (!leave_copy_for_all(call_.values, bytes_) || !all_left(bytes_)) return false;
            add([this](int from) { return left_by(from, bytes_); });
            return true;
        }
        if (member() == first_) {
            if (!all_left(bytes_)) return false;
            std::byte* const room = claim_for_all(bytes_);
            if (room == nullptr) return false;
            add([this](int from) { return left_by(from, bytes_); });
            if (bytes_ != 0) std::memcpy(room, call_.result, bytes_);
            leave_for_all(bytes_);
            return true;
        }
        if (!leave_copy_for(first_, call_.values, bytes_)) return false;
        const std::byte* const sum = left_by(first_, bytes_);
        if (sum == nullptr) return false;
        if (bytes_ != 0) std::memcpy(call_.result, sum, bytes_);
        return true;
    }

    // Values that the sum overwrites cannot be lent.
    bool add_lent() {
        if (!lend_or_leave(call_.values, bytes_, call_.values != call_.result) ||
            !find_all(bytes_, values_))
            return false;
        if (!std::exchange(added_, true))
            add([this](int from) { return values_[std::size_t(from)]; });
        return transfers_ended();
    }
    template <class From>
    void add(From&& from_other) {
        if (bytes_ == 0) return;
        // The own values are read where they are, unless the sum overwrites them before their turn.
        const bool stay = call_.values != call_.result || grid().place() <= 1;
        fold_grid(grid(), call_.operation, call_.result, call_.count, [&](int from) {
            if (from != member()) return from_other(from);
            return stay ? call_.values : static_cast<const std::byte*>(contents_of(from, bytes_));
        });
    }

    std::size_t bytes_ = 0;
    int first_ = 0;
    bool each_adds_ = false;
    std::vector<const std::byte*> values_;  // by member, if they may be lent
    bool added_ = false;
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::allreduce
