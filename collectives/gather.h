// Gather(v): a block from each member to one of them.
//
// The scatter backwards: in the optimal form the blocks of a region travel along its tree, and each
// member adds its own and those that come to it to common frames. The other form sends the root a
// message from each member.
#pragma once

#include "collectives/blocks.h"
#include "collectives/framed.h"

namespace torusmp::collectives {

enum class GatherForm {
    automatic,  // as the settings say
    optimal,
    apart  // a message from each; beyond the neighbours they are relayed, shortest direction first
};

class Gather final : public Framed {
  public:
    explicit Gather(Group& group) : Framed(group) {}
    ~Gather() = default;

    // The `out_bytes` bytes at `out` of each member to its block in `in` at the root; a block for
    // which there is not room enough is an error there (truncated). `in` and `in_blocks` are used
    // at the root only, which may have `out` null: its own block is in place already. root is a
    // node number, the same on all members, and so is the form.
    void start(void* in, const Blocks& in_blocks, const void* out, std::size_t out_bytes, int root,
               GatherForm form = GatherForm::automatic);

  private:
    bool move() override;
    bool deliver(Inlet& inlet, const Piece& piece) override;
    void start_root();
    void keep_own_block();
    void put_own_block();
    bool take(const Piece& piece, const std::byte* bytes);
    Outlet* outlet_of(int region);

    std::byte* in_ = nullptr;
    Blocks in_blocks_;
    const std::byte* out_ = nullptr;
    std::size_t out_bytes_ = 0;
    int root_ = 0;
    const Regions* regions_ = nullptr;  // null: no frames
    std::size_t put_ = 0;               // bytes of the own block
    bool own_is_put_ = false;
};

}  // namespace torusmp::collectives
