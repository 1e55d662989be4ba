// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its vector, from which each other member adds up its own block: long vectors
// in the order in which `lines` adds, so that the bits are the same, others in member order.
#include <vector>

#include "collectives/algorithm/through_area.h"
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::reduce_scatter);
        added_ = false;
        values_.assign(std::size_t(size()), nullptr);
        values_[std::size_t(member())] = call_.values;
    }

  private:
    bool move() override {
        if (call_.bytes == 0) return true;
        if (!added_ && !add()) return false;
        added_ = true;
        return transfers_ended();
    }

    bool add() {
        const std::size_t own = call_.sizes[std::size_t(member())];
        const std::size_t offset = call_.offsets[std::size_t(member())];
        // An operation that needs all elements reads where the result may be.
        const bool may_lend = !call_.operation.whole &&
                              lends(Area::all, call_.bytes, call_.bytes / std::size_t(size()));
        if (!lend_or_leave(call_.values, call_.bytes, may_lend)) return false;
        if (own == 0) {  // no other member is waited for
            pass_over(call_.bytes);
            return true;
        }
        if (!find_all(call_.bytes, values_)) return false;
        const Operation& operation = call_.operation;
        if (call_.bytes > Area::short_bytes && operation.commutative && !operation.whole) {
            sum_lines(own, offset);
            return true;
        }
        // The elements to add: the own block, or all of them if the operation needs all elements in
        // one call.
        const std::size_t begin = operation.whole ? 0 : offset;
        const std::size_t bytes = operation.whole ? call_.bytes : own;
        std::byte* const sum = memory_for(bytes);
        const std::byte* so_far = values_of(0) + begin;
        for (int from = 1; from < size(); ++from) {
            operation.combine(sum, so_far, values_of(from) + begin, bytes / operation.element,
                              operation.closure);
            so_far = sum;
        }
        if (so_far + offset - begin != call_.result)
            std::memcpy(call_.result, so_far + offset - begin, own);
        return true;
    }

    const std::byte* values_of(int from) const { return values_[std::size_t(from)]; }
    // Memory for a sum: the result, unless that is shorter or part of the values.
    std::byte* memory_for(std::size_t bytes) {
        const bool fits = bytes == call_.sizes[std::size_t(member())];
        return fits && call_.is_apart(member()) ? call_.result : sum_.reserve(bytes);
    }

    void sum_lines(std::size_t own, std::size_t offset) {
        std::byte* const sum = memory_for(own);
        fold_to_own(group(), call_.operation, sum, own / call_.operation.element,
                    [&](int from) { return values_of(from) + offset; });
        if (sum != call_.result) std::memcpy(call_.result, sum, own);
    }

    std::vector<const std::byte*> values_;  // by member
    bool added_ = false;
    Scratch sum_;
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::reduce_scatter
