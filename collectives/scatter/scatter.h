// Scatter(v): from one member a block to each.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {
namespace scatter {

// What an algorithm finds.
struct Arguments {
    std::byte* in = nullptr;  // null at the root: its own block stays where it is
    std::size_t in_bytes = 0;
    const std::byte* out = nullptr;
    Blocks out_blocks{};
    int root = 0;
    // Of the root.
    core::Buffer block_of(int member) const {
        return {out + out_blocks.offset(member), out_blocks.size(member)};
    }
    // At the root, where its own block goes. False: there is no room for it.
    bool keep_own_block() const;
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace scatter

class Scatter final : public Collective<scatter::Arguments> {
  public:
    explicit Scatter(Group& group) : Collective(group, scatter::algorithms()) {}
    ~Scatter() = default;

    // Each member gets its block, at most `in_bytes` bytes, at `in`; a longer one is an error
    // (truncated). `out` and `out_blocks` are read at the root only, which may have `in` null: its
    // own block then stays where it is. root is a member number, the same on all members, and so is
    // the algorithm, a row of scatter::algorithms(); null: as the settings say.
    void start(void* in, std::size_t in_bytes, const void* out, const Blocks& out_blocks, int root,
               const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
