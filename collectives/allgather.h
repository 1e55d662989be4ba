// Allgather: every member gets the blocks of all.
#pragma once

#include "collectives/block_schedule.h"
#include "collectives/bundles.h"

namespace torusmp::collectives {

enum class GatherAllForm {
    automatic,
    rings,     // every member's block spreads over the links at once: all links busy, only
               // neighbours talk
    lines,     // dimension by dimension each member exchanges what it has with its whole line
    everyone,  // every member sends its block to every other: one step
    star       // everybody sends to the first member, and it all blocks to everybody: two steps
};

class Allgather final : public BlockSchedule {
  public:
    explicit Allgather(Group& group) : BlockSchedule(group) {}
    ~Allgather() = default;

    // in_blocks: where node i's block goes in `in`; the sizes are the same on all members. out: own
    // block; null: it is in its place in `in` already.
    void start(void* in, const Blocks& in_blocks, const void* out,
               GatherAllForm form = GatherAllForm::automatic);

  private:
    bool step() override;
    bool step_rings();
    bool step_lines();
    bool step_everyone();
    bool step_star();

    GatherAllForm form_ = GatherAllForm::lines;
    int step_ = 0;
};

}  // namespace torusmp::collectives
