// Reduce to one member.
#pragma once

#include "collectives/pipeline.h"

namespace torusmp::collectives {

enum class RootedForm {
    automatic,
    lines,  // along each line to the member at the root's coordinate: fewest messages in a row; in
            // the order of the nodes where the operation does not commute
    tree,   // from neighbour to neighbour up the dimension-ordered tree, adding on the way
    disjoint  // a stripe up each disjoint tree, in segments: all links busy
};

class Reduce final : public Pipeline {
  public:
    explicit Reduce(Group& group) : Pipeline(group) {}
    ~Reduce() = default;

    // `count` elements at `values` of each member, combined into `result` of the root, a node
    // number; null or `values` itself there: in place. Others' `result` is not looked at.
    // Operations that do not commute, or want the vector whole, go along lines or whole up the
    // tree, whatever the form.
    void start(void* result, const void* values, std::size_t count, const Operation& operation,
               int root, RootedForm form = RootedForm::automatic);

  private:
    bool move() override;
    bool step() override;

    std::byte* sum_ = nullptr;  // the result; on others, scratch
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    Operation operation_{};
    RootedForm form_ = RootedForm::lines;
    Group* grid_ = nullptr;
    int root_place_ = 0;
    int dimension_ = 0;      // the line at work
    bool gathered_ = false;  // its contributions are there
    Scratch memory_;         // a sum, and a slot a coordinate
    std::size_t slot_bytes_ = 0;
};

}  // namespace torusmp::collectives
