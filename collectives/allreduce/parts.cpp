// SPDX-License-Identifier: BSD-3-Clause
// Every member lends its values and its result, or leaves its values in the area. It adds its part
// of all vectors, and then copies the other parts of the sum from the members that have added them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/algorithm/through_area.h"
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

class ByParts final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::allreduce);
        bytes_ = call_.bytes();
        found_ = 0;
        added_ = false;
        taken_ = 1;
        members_.assign(std::size_t(size()), Member{});
    }

  private:
    // Where the values of a member and its part of the sum are.
    struct Member {
        const std::byte* values = nullptr;
        const std::byte* sum = nullptr;
    };
    struct Part {
        std::size_t offset, bytes;
    };

    bool move() override {
        if (!leave() || !find_members()) return false;
        if (!added_) add();
        for (; taken_ < size(); ++taken_) {
            const int from = (member() + taken_) % size();
            if (!has_step(from, Area::Step::added)) return false;
            const Part part = part_of(from);
            copy(call_.result + part.offset, members_[std::size_t(from)].sum + part.offset, part);
        }
        return transfers_ended();
    }

    bool leave() {
        return has_left() ||
               (lends(Area::all, bytes_, bytes_) &&
                lend(Area::all, bytes_, {{call_.values, bytes_}, {call_.result, bytes_}})) ||
               leave_copy_for_all(call_.values, bytes_);
    }

    // If a member lends nothing, its part of the sum takes the place of the values that it has
    // left: no other member reads that part of them.
    bool find_members() {
        for (; found_ < size(); ++found_) {
            Member& from = members_[std::size_t(found_)];
            if (found_ == member()) {
                from = {call_.values, call_.result};
                continue;
            }
            const Left left = left_where(found_, bytes_);
            if (left == Left::nothing) return false;
            if (left == Left::lent)
                from = {borrow(found_, bytes_, 0, 2), borrow(found_, bytes_, 1, 2)};
            else
                from.values = from.sum = contents_of(found_, bytes_);
            if (failed()) return false;
        }
        return true;
    }

    void add() {
        const Part part = part_of(member());
        std::byte* const sum = call_.result + part.offset;
        const std::byte* own = call_.values + part.offset;
        // The own values are read where they are, unless the sum overwrites them before their turn.
        if (own == sum && call_.grid->place() > 1) {
            std::byte* const kept = own_.reserve(part.bytes);
            copy(kept, own, part);
            own = kept;
        }
        fold_grid(
            *call_.grid, call_.operation, sum, part.bytes / call_.operation.element, [&](int from) {
                return from == member() ? own : members_[std::size_t(from)].values + part.offset;
            });
        if (!has_lent()) copy(contents_of(member(), bytes_) + part.offset, sum, part);
        added_ = true;
        set_step(Area::Step::added);
    }

    Part part_of(int member) const {
        const std::size_t element = call_.operation.element;
        const auto end = [&](int parts) {
            return call_.count * std::size_t(parts) / std::size_t(size()) * element;
        };
        return {end(member), end(member + 1) - end(member)};
    }
    static void copy(std::byte* to, const std::byte* from, const Part& part) {
        if (part.bytes != 0) std::memcpy(to, from, part.bytes);
    }

    std::size_t bytes_ = 0;
    std::vector<Member> members_;
    int found_ = 0;       // members whose values are known
    bool added_ = false;  // this member's part
    int taken_ = 1;       // parts of the sum that are in place, from this member's on
    Scratch own_;         // this member's part of its values, if the sum takes their place
};

}  // namespace

extern AlgorithmMaker<Arguments> parts = make_algorithm<ByParts>;

}  // namespace torusmp::collectives::allreduce
