// Allreduce and barrier, dimension by dimension along the group's grid, the last dimension first.
//
// Every form adds the contributions of a line in the order of their coordinates, and the dimensions
// in the same order. So the result has the same bits on every member, in every run with the same
// layout, and whichever form is taken; an operation that is associative but does not commute sees
// the members in the order of their places.
#pragma once

#include "collectives/ranges.h"
#include "collectives/schedule.h"

namespace torusmp::collectives {

// inout[i] = inout[i] op in[i] for i in [0, count).
using Combine = void (*)(void* inout, const void* in, std::size_t count, const void* closure);

struct Operation {
    Combine combine = nullptr;
    std::size_t element = 1;        // bytes of one element
    const void* closure = nullptr;  // handed to combine; kept by the caller until complete
    bool whole = false;             // combine must see all elements at once: never cut the vector
    bool commutative = true;        // may be taken in another order than that of the nodes
};

enum class ReduceForm {
    automatic,
    exchange,  // along each line everybody gets everything and adds it all: fewest steps
    star,      // everybody sends to the first member, which adds and sends back: two steps
    tree,  // along each line to the first member, and back: fewest messages, each leaf sleeps once
    scatter  // each member adds one part of the vector, then the parts are gathered: least bytes
};

// The form that `automatic` stands for.
ReduceForm choose_form(const Group& group, std::size_t bytes, bool may_cut);

class Allreduce final : public Schedule {
  public:
    explicit Allreduce(Group& group) : Schedule(group) {}
    ~Allreduce() = default;

    // In place: `count` elements at `buffer`.
    void start(void* buffer, std::size_t count, const Operation& operation,
               ReduceForm form = ReduceForm::automatic);
    // Complete when all members have started it.
    void start_barrier();

  private:
    bool step() override;
    bool step_exchange();
    bool step_star();
    bool step_tree();
    bool step_scatter();

    void post_direct_gather();
    void post_ring_step();
    void post_cut();
    void post_collect();
    std::byte* slot(int coordinate) { return slots_ + slot_bytes_ * std::size_t(coordinate); }
    void fold(std::byte* own, std::size_t count);
    void fold_all();

    std::byte* buffer_ = nullptr;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    Operation operation_{};
    ReduceForm form_ = ReduceForm::tree;

    // Where the schedule stands.
    enum class Phase { reduce, reduced, spread, end };
    Phase phase_ = Phase::end;
    int dimension_ = 0;  // the line at work
    int ring_step_ = 0;  // exchange without direct paths: steps done along the line
    Ranges ranges_;
    Scratch scratch_;
    std::byte* slots_ = nullptr;  // contributions: of a line by coordinate; star: by place
    std::size_t slot_bytes_ = 0;
};

}  // namespace torusmp::collectives
