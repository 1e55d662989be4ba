// Reduce-scatter: the contributions of all members are combined element by element, and each
// member gets one block of the result.
//
// The order in which contributions are combined depends on the group, the sizes and the form alone,
// so the bits are the same in every run with the same layout. An operation that does not commute
// sees the nodes in their order.
#pragma once

#include <vector>

#include "collectives/block_schedule.h"
#include "collectives/operation.h"

namespace torusmp::collectives {

enum class ReduceScatterForm {
    automatic,
    rings,    // partial sums come together over the links, all at once: all links busy, only
              // neighbours talk
    lines,    // dimension by dimension: each member of a line gets the part of its coordinate
    ordered,  // every member gets its block from all others and combines them in node order
    tree      // all to node 0, in node order by halves, and the blocks from there: least messages
};

class ReduceScatter final : public BlockSchedule {
  public:
    explicit ReduceScatter(Group& group) : BlockSchedule(group) {}
    ~ReduceScatter() = default;

    // values: the blocks of all nodes one behind the other, counts[i] elements for node i, the same
    // counts on all members. result: this node's block; it may be its place in `values`. A form
    // that the operation does not allow is replaced by one that it does.
    void start(void* result, const void* values, std::span<const std::size_t> counts,
               const Operation& operation, ReduceScatterForm form = ReduceScatterForm::automatic);

  private:
    bool step() override;
    bool step_rings();
    bool step_lines();
    bool step_ordered();
    bool step_tree();

    void take_values(const void* values);
    void add_received();
    bool finish(const std::byte* own);
    int arity() const;
    bool post_subtrees();
    void add_subtrees();

    std::byte* result_ = nullptr;
    std::byte* sums_ = nullptr;  // the blocks of all nodes: own values, then partial sums
    std::size_t bytes_ = 0;      // of all blocks
    Operation operation_{};
    ReduceScatterForm form_ = ReduceScatterForm::lines;
    int step_ = 0;  // ordered: messages posted, each way
    enum class Phase { reduce, deal };
    Phase phase_ = Phase::reduce;  // of the tree
    int reach_ = 1;                // of the tree: how many nodes our sums stand for
    int subtrees_ = 0;             // and how many more are in the slots

    Scratch memory_;
    Scratch slots_memory_;
    std::byte* slots_ = nullptr;
    std::vector<std::size_t> sizes_;  // by node
    std::vector<std::size_t> offsets_;
};

}  // namespace torusmp::collectives
