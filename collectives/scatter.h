// Scatter(v): from one member a block to each.
//
// The optimal form splits the grid into as many regions as the root has links, sends to all of them
// at once and to the furthest members first; small blocks of a region share frames. The other sends
// each member a message by itself, in the order of the nodes.
#pragma once

#include "collectives/blocks.h"
#include "collectives/framed.h"

namespace torusmp::collectives {

enum class ScatterForm {
    automatic,  // as the settings say
    optimal,
    apart  // a message to each; beyond the neighbours they are relayed, shortest direction first
};

class Scatter final : public Framed {
  public:
    explicit Scatter(Group& group) : Framed(group) {}
    ~Scatter() = default;

    // Each member gets its block, at most `in_bytes` bytes, at `in`; a longer one is an error
    // (truncated). `out` and `out_blocks` are read at the root only, which may have `in` null: its
    // own block then stays where it is. root is a node number, the same on all members, and so is
    // the form.
    void start(void* in, std::size_t in_bytes, const void* out, const Blocks& out_blocks, int root,
               ScatterForm form = ScatterForm::automatic);

  private:
    bool move() override;
    bool deliver(Inlet& inlet, const Piece& piece) override;
    void start_root();
    void keep_own_block();
    void fill(std::size_t child);
    bool take_own(const Piece& piece, const std::byte* bytes);
    core::Buffer block_of(int node) const;

    std::byte* in_ = nullptr;
    std::size_t in_bytes_ = 0;
    const std::byte* out_ = nullptr;
    Blocks out_blocks_;
    int root_ = 0;
    const Regions* regions_ = nullptr;  // null: no frames
    // The root, by child: how far it has come.
    struct Cursor {
        std::size_t place = 0;   // in the region's order
        std::size_t offset = 0;  // in that one's block
    };
    std::vector<Cursor> cursors_;
    std::size_t taken_ = 0;  // bytes of the own block
};

}  // namespace torusmp::collectives
