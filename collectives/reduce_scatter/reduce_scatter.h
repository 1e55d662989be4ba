// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter: the contributions of all members are combined element by element, and each
// member gets one block of the result.
//
// The order in which contributions are combined depends only on the group, the sizes and the
// algorithm, so the bits are the same in every run with the same layout. An operation that does not
// commute is applied in member order.
#pragma once

#include <span>
#include <vector>

#include "collectives/algorithm/collective.h"
#include "collectives/group/operation.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace reduce_scatter {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* result = nullptr;  // this member's block; may be its place in `values`
    const std::byte* values = nullptr;
    std::size_t bytes = 0;             // of all blocks
    std::vector<std::size_t> sizes{};  // of the blocks, by member
    std::vector<std::size_t> offsets{};
    Operation operation{};
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
    // Whether the result of that member, which is this one, is not part of the values.
    bool is_apart(int member) const {
        return result + sizes[std::size_t(member)] <= values || values + bytes <= result;
    }
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace reduce_scatter

class ReduceScatter final : public Collective<reduce_scatter::Arguments> {
  public:
    explicit ReduceScatter(Group& group) : Collective(group, reduce_scatter::algorithms()) {}
    ~ReduceScatter() = default;

    // `values` contains the blocks of all members one after the other, counts[i] elements for
    // member i; the counts are the same on all members. `result` receives this member's block and
    // may be its place in `values`. `algorithm` is a row of reduce_scatter::algorithms(), or null
    // to let the settings choose; if the operation rules it out, the next row that fits is used.
    void start(void* result, const void* values, std::span<const std::size_t> counts,
               const Operation& operation, const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
