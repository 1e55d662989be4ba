// Scan: each member gets the combination of the values of all members before it, in node order.
//
// The operation need not commute. The order in which values are combined depends on the group and
// on the size alone, so the bits are the same in every run with the same layout.
#pragma once

#include "collectives/operation.h"
#include "collectives/schedule.h"

namespace torusmp::collectives {

enum class ScanKind {
    inclusive,  // nodes 0 to own
    exclusive   // nodes 0 to the one before; the buffer of node 0 is left as it was
};

enum class ScanForm {
    automatic,
    lines,     // each line gathers its totals, dimension by dimension: fewest hops
    doubling,  // from the node 1, 2, 4, ... before: each step moves the vector once
    star,      // everybody sends to node 0, which works it all out and sends back: two steps
    chain  // from node to node: least messages, and none that waits for those behind it, so calls
           // in a row overlap
};

class Scan final : public Schedule {
  public:
    explicit Scan(Group& group) : Schedule(group.ordered()) {}
    ~Scan() = default;

    // In place: `count` elements at `buffer`.
    void start(void* buffer, std::size_t count, const Operation& operation, ScanKind kind,
               ScanForm form = ScanForm::automatic);

  private:
    bool step() override;
    bool step_lines();
    bool step_doubling();
    bool step_star();
    bool step_chain();

    void post_line();
    void post_ring_step();
    void fold_line();
    void take_doubled();
    void answer_all();

    std::byte* slot(int index) { return slots_ + slot_bytes_ * std::size_t(index); }
    void copy(std::byte* to, const std::byte* from) const;
    // a = a op b
    void combine(std::byte* a, const std::byte* b) const;

    std::byte* buffer_ = nullptr;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    Operation operation_{};
    ScanKind kind_ = ScanKind::inclusive;
    ScanForm form_ = ScanForm::doubling;

    Scratch scratch_;
    std::size_t slot_bytes_ = 0;
    std::byte* slots_ = nullptr;   // lines: by coordinate; star: by node
    std::byte* total_ = nullptr;   // of the nodes that ends with (doubling) or holds (lines) own
    std::byte* before_ = nullptr;  // of the nodes right before own, as far as known
    std::byte* come_ = nullptr;    // what a step of doubling receives
    std::byte* spare_ = nullptr;
    bool any_before_ = false;

    bool posted_ = false;    // something waits to be folded when the step is over
    bool answered_ = false;  // star, chain: the results are on their way
    int dimension_ = 0;
    int ring_step_ = 0;
    int reach_ = 1;  // doubling: how many nodes before
};

}  // namespace torusmp::collectives
