// SPDX-License-Identifier: BSD-3-Clause
// Gather(v): a block from each member to one of them.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace gather {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* in = nullptr;
    Blocks in_blocks{};
    const std::byte* out = nullptr;  // null at the root, whose own block is in place
    std::size_t out_bytes = 0;
    int root = 0;
    // The place of a member's block, on the root only.
    core::Buffer place_of(int member) const {
        return {in + in_blocks.offset(member), in_blocks.size(member)};
    }
    core::Buffer own_block() const { return {out, out_bytes}; }
    // Copies the root's own block into place; called at the root. Returns false if the place has
    // another size.
    bool keep_own_block() const;
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace gather

class Gather final : public Collective<gather::Arguments> {
  public:
    explicit Gather(Group& group) : Collective(group, gather::algorithms()) {}
    ~Gather() = default;

    // Each member sends `out_bytes` bytes at `out` to its block in `in` at the root; a block that
    // does not fit there is an error (truncated), and so is a shorter one of the root itself. `in`
    // and `in_blocks` are used at the root only, where `out` may be null because its own block is
    // already in place. `root` is a member number, and `algorithm` a row of gather::algorithms(),
    // or null to let the settings choose; both are the same on all members.
    void start(void* in, const Blocks& in_blocks, const void* out, std::size_t out_bytes, int root,
               const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
