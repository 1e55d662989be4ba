// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its vector, from which each other adds up its own block: of long vectors in
// the order in which `lines` adds, so that the bits are the same, else in member order.
#include "collectives/algorithm/through_area.h"
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override { begin_call(Kind::reduce_scatter); }

  private:
    bool move() override {
        if (call_.bytes == 0) return true;
        const std::size_t own = call_.sizes[std::size_t(member())];
        const std::size_t offset = call_.offsets[std::size_t(member())];
        if (!leave_copy_for_all(call_.values, call_.bytes)) return false;
        if (own == 0) return true;  // nobody is waited for
        if (!all_left(call_.bytes)) return false;
        const Operation& operation = call_.operation;
        if (call_.bytes > Area::room_bytes && operation.commutative && !operation.whole) {
            sum_lines(own, offset);
            return true;
        }
        // What is added up: the own block, or all where the operation must see it at once.
        const std::size_t begin = operation.whole ? 0 : offset;
        const std::size_t bytes = operation.whole ? call_.bytes : own;
        std::byte* const sum = sum_.reserve(bytes);  // the result may be part of the values
        for (int from = 0; from < size(); ++from) {
            const std::byte* const values =
                (from == member() ? call_.values : left_by(from, call_.bytes)) + begin;
            if (from == 0)
                std::memcpy(sum, values, bytes);
            else
                operation.combine(sum, values, bytes / operation.element, operation.closure);
        }
        std::memcpy(call_.result, sum + offset - begin, own);
        return true;
    }

    // The own block, dimension by dimension, beginning with the first. A line's own value comes
    // before those of the others.
    void sum_lines(std::size_t own, std::size_t offset) {
        const auto dimensions = std::size_t(group().dimensions());
        own_ = own;
        offset_ = offset;
        partial_ = sum_.reserve(Scratch::rounded(own) * (dimensions + 1));
        std::byte* const sum = partial_ + Scratch::rounded(own) * dimensions;
        sum_line(sum, group().place(), group().dimensions() - 1);
        std::memcpy(call_.result, sum, own);
    }
    // Of all members that differ from this place in this dimension or those before it.
    void sum_line(std::byte* sum, int place, int dimension) {
        const Operation& operation = call_.operation;
        if (dimension == 0)
            std::memcpy(sum, value_of(place), own_);
        else
            sum_line(sum, place, dimension - 1);
        const int here = group().coordinate(place, dimension);
        for (int c = 0; c < group().extent(dimension); ++c) {
            if (c == here) continue;
            const int at = place + (c - here) * group().stride(dimension);
            const std::byte* more = nullptr;
            if (dimension == 0) {
                more = value_of(at);
            } else {
                std::byte* const partial =
                    partial_ + Scratch::rounded(own_) * std::size_t(dimension);
                sum_line(partial, at, dimension - 1);
                more = partial;
            }
            operation.combine(sum, more, own_ / operation.element, operation.closure);
        }
    }
    const std::byte* value_of(int place) {
        const int from = group().member_at(place);
        return (from == member() ? call_.values : left_by(from, call_.bytes)) + offset_;
    }

    Scratch sum_;
    std::byte* partial_ = nullptr;  // sums, one a dimension
    std::size_t own_ = 0;           // of the own block: its length, and where it lies
    std::size_t offset_ = 0;
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::reduce_scatter
