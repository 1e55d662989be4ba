// Broadcast, along the group's grid.
#pragma once

#include "collectives/pipeline.h"
#include "collectives/ranges.h"

namespace torusmp::collectives {

enum class BroadcastForm {
    automatic,
    lines,    // the root to its line, then each of these to theirs: fewest messages in a row
    scatter,  // the root deals parts out, which are then gathered: least bytes at any one member
    tree,     // from neighbour to neighbour, dimension by dimension: each link carries it once
    disjoint  // a stripe along each disjoint tree, in segments: all links busy
};

class Broadcast final : public Pipeline {
  public:
    explicit Broadcast(Group& group) : Pipeline(group) {}
    ~Broadcast() = default;

    // `bytes` bytes at `buffer`, from the root to all; root is a node number.
    void start(void* buffer, std::size_t bytes, int root,
               BroadcastForm form = BroadcastForm::automatic);

  private:
    bool move() override;
    bool step() override;
    bool step_lines();
    bool step_scatter();
    bool at_root(int dimension) const {
        return group().coordinate(dimension) == group().coordinate(root_place_, dimension);
    }
    core::Buffer memory(Range range) const { return {buffer_ + range.from, range.size()}; }

    std::byte* buffer_ = nullptr;
    std::size_t bytes_ = 0;
    int root_place_ = 0;
    BroadcastForm form_ = BroadcastForm::lines;
    enum class Phase { take, deal, collect, end };
    Phase phase_ = Phase::end;
    int source_dimension_ = -1;  // the line over which it comes; -1 or dimensions(): at the root
    int dimension_ = 0;
    Ranges ranges_;
};

}  // namespace torusmp::collectives
