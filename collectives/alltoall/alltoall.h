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

}  // namespace alltoall

class Alltoall final : public Collective<alltoall::Arguments> {
  public:
    explicit Alltoall(Group& group) : Collective(group, alltoall::algorithms()) {}
    ~Alltoall() = default;

    // The block that out_blocks names for member i goes to member i; what in_blocks names for it
    // comes from there, and has the length that this member says. `in` and `out` do not overlap.
    // Either all members give even blocks of one size for both, or none does. algorithm: a row of
    // alltoall::algorithms(), or of the next one that fits these blocks; null: as the settings say.
    void start(void* in, const Blocks& in_blocks, const void* out, const Blocks& out_blocks,
               const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
