// SPDX-License-Identifier: BSD-3-Clause
// Allgather: every member gets the blocks of all.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace allgather {

// The arguments of a call, as its algorithm sees them: this member's block is in place already.
struct Arguments {
    std::byte* in = nullptr;
    Blocks in_blocks{};
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace allgather

class Allgather final : public Collective<allgather::Arguments> {
  public:
    explicit Allgather(Group& group) : Collective(group, allgather::algorithms()) {}
    ~Allgather() = default;

    // in_blocks: where member i's block goes in `in`; the sizes are the same on all members. out:
    // this member's block; null: it is in its place in `in` already. algorithm: a row of
    // allgather::algorithms(); null: as the settings say.
    void start(void* in, const Blocks& in_blocks, const void* out,
               const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
