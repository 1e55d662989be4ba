// SPDX-License-Identifier: BSD-3-Clause
// Allgather: every member gets the blocks of all.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace allgather {

// The arguments of a call as its algorithm receives them: this member's block is already in place.
// `own` is the caller's copy of that block if there is one, otherwise its place. (The member has
// just written the block in place, so it is in this core's cache, from which other cores read
// slowly.)
struct Arguments {
    std::byte* in = nullptr;
    Blocks in_blocks{};
    const std::byte* own = nullptr;
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace allgather

class Allgather final : public Collective<allgather::Arguments> {
  public:
    explicit Allgather(Group& group) : Collective(group, allgather::algorithms()) {}
    ~Allgather() = default;

    // `in_blocks` locates the block of each member in `in`; the sizes are the same on all members.
    // `out` is this member's block, or null if it is already at its place in `in`. `algorithm` is a
    // row of allgather::algorithms(), or null to let the settings choose.
    void start(void* in, const Blocks& in_blocks, const void* out,
               const AlgorithmRow* algorithm = nullptr);
    // Starts it as a part of another call. `call`, a literal, is the name in reports and in errors
    // of members that disagree.
    void start_for(const char* call, void* in, const Blocks& in_blocks, const void* out);

    // A start whose block has `sent` bytes, another size than in_blocks has for this member: fails
    // on all members.
    void refuse(const Blocks& in_blocks, std::size_t sent);

  private:
    // Puts our block in its place; returns the bytes of all blocks.
    std::size_t prepare(void* in, const Blocks& in_blocks, const void* out);
    void begin_as(std::string_view name, const Call& call, std::size_t bytes,
                  const AlgorithmRow* algorithm);
};

}  // namespace torusmp::collectives
