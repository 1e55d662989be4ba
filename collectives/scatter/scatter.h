// SPDX-License-Identifier: BSD-3-Clause
// Scatter(v): a block from one member to each.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace scatter {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* in = nullptr;  // null at the root, whose own block stays in place
    std::size_t in_bytes = 0;
    const std::byte* out = nullptr;
    Blocks out_blocks{};
    int root = 0;
    // The block of a member, on the root only.
    core::Buffer block_of(int member) const {
        return {out + out_blocks.offset(member), out_blocks.size(member)};
    }
    // Copies the root's own block into place; called at the root. Returns false if there is not
    // enough room.
    bool keep_own_block() const;
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace scatter

class Scatter final : public Collective<scatter::Arguments> {
  public:
    explicit Scatter(Group& group) : Collective(group, scatter::algorithms()) {}
    ~Scatter() = default;

    // Each member receives its block, at most `in_bytes` bytes, at `in`; a longer one is an error
    // (truncated). `out` and `out_blocks` are read at the root only, where `in` may be null; its
    // own block then stays where it is. `root` is a member number, and `algorithm` a row of
    // scatter::algorithms(), or null to let the settings choose; both are the same on all members.
    void start(void* in, std::size_t in_bytes, const void* out, const Blocks& out_blocks, int root,
               const AlgorithmRow* algorithm = nullptr);
    // A start of the root whose block for itself has `sent` bytes where `room` are expected: fails
    // on all members.
    void refuse(std::size_t sent, std::size_t room);
};

}  // namespace torusmp::collectives
