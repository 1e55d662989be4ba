// SPDX-License-Identifier: BSD-3-Clause
// Allgather: every member gets the blocks of all.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace allgather {

// The arguments of a call, as its algorithm sees them: this member's block is already in place. own:
// where the caller has it, too, or its place. (What this member has just written is in its cache, from
// where others have it slowly.)
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

    // in_blocks: location of member i's block in `in`; the sizes are the same on all members. out:
    // this member's block; null if it is already at its place in `in`. algorithm: a row of
    // allgather::algorithms(); null to choose by the settings.
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
