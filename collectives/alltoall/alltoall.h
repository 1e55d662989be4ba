// SPDX-License-Identifier: BSD-3-Clause
// Alltoall: every member has a block for every other.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace alltoall {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* in = nullptr;
    Blocks in_blocks{};
    const std::byte* out = nullptr;
    Blocks out_blocks{};
};
const AlgorithmsFor<Arguments>& algorithms();
// The number of the block for `to` among those that `from` leaves: a member leaves none for itself.
inline std::size_t column(int to, int from) {
    return std::size_t(to < from ? to : to - 1);
}

}  // namespace alltoall

class Alltoall final : public Collective<alltoall::Arguments> {
  public:
    explicit Alltoall(Group& group) : Collective(group, alltoall::algorithms()) {}
    ~Alltoall() = default;

    // The block of out_blocks for member i is sent to member i; the block of in_blocks for member i
    // is received from there, and its length must be the length that member i sends. `in` and `out`
    // do not overlap. Either all members use even blocks of one size for both, or none does.
    // `algorithm` is a row of alltoall::algorithms(), or null to let the settings choose; if these
    // blocks rule it out, the next row that fits is used.
    void start(void* in, const Blocks& in_blocks, const void* out, const Blocks& out_blocks,
               const AlgorithmRow* algorithm = nullptr);
    // A start whose block for this member has another size than the place for it: fails on all
    // members.
    void refuse(const Blocks& in_blocks, const Blocks& out_blocks);
};

}  // namespace torusmp::collectives
