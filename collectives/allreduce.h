// Allreduce and barrier, dimension by dimension along the group's grid, the last dimension first.
//
// Every form but `disjoint` adds the contributions of a line in the order of their coordinates, and
// the dimensions in the same order; `disjoint` adds along its trees. So the result has the same
// bits on every member, and in every run with the same layout and form. An operation that is
// associative but does not commute is taken over the grid of the nodes in their order, and never
// `disjoint`.
#pragma once

#include "collectives/pipeline.h"
#include "collectives/ranges.h"

namespace torusmp::collectives {

enum class ReduceForm {
    automatic,
    exchange,  // along each line everybody gets everything and adds it all: fewest steps
    star,      // everybody sends to the first member, which adds and sends back: two steps
    lines,  // along each line to the first member, and back: fewest messages, each leaf sleeps once
    scatter,  // each member adds one part of the vector, then the parts are gathered: least bytes
    disjoint  // a stripe along each disjoint tree, up and down in segments: all links busy
};

class Allreduce final : public Pipeline {
  public:
    explicit Allreduce(Group& group) : Pipeline(group) {}
    ~Allreduce() = default;

    // In place: `count` elements at `buffer`. A form that the operation does not allow is replaced
    // by the next best.
    void start(void* buffer, std::size_t count, const Operation& operation,
               ReduceForm form = ReduceForm::automatic);
    // Complete when all members have started it.
    void start_barrier();

  private:
    bool move() override;
    bool step() override;
    bool step_exchange();
    bool step_star();
    bool step_lines();
    bool step_scatter();

    void post_direct_gather();
    void post_line_step();
    void post_cut();
    void post_collect();
    Group& grid() const { return *grid_; }
    std::byte* slot(int coordinate) { return slots_ + slot_bytes_ * std::size_t(coordinate); }
    void fold(std::byte* own, std::size_t count);
    void fold_all();

    std::byte* buffer_ = nullptr;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    Operation operation_{};
    ReduceForm form_ = ReduceForm::lines;
    Group* grid_ = nullptr;  // the group, or its nodes in their order

    // Where the schedule stands.
    enum class Phase { reduce, reduced, spread, end };
    Phase phase_ = Phase::end;
    int dimension_ = 0;  // the line at work
    int line_step_ = 0;  // exchange without direct paths: steps done along the line
    Ranges ranges_;
    Scratch scratch_;
    std::byte* slots_ = nullptr;  // contributions: of a line by coordinate; star: by place
    std::size_t slot_bytes_ = 0;
};

}  // namespace torusmp::collectives
