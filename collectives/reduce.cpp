#include "collectives/reduce.h"

#include <algorithm>
#include <cstring>

#include "collectives/hosted.h"

namespace torusmp::collectives {
namespace {

RootedForm reduce_form(const Group& group, std::size_t bytes, RootedForm wanted,
                       const Operation& operation) {
    if (!operation.commutative) return RootedForm::lines;
    if (wanted == RootedForm::automatic)
        wanted = RootedForm(group.form(config::Collective::reduce, bytes));
    return operation.whole && wanted == RootedForm::disjoint ? RootedForm::tree : wanted;
}

}  // namespace

void Reduce::start(void* result, const void* values, std::size_t count, const Operation& operation,
                   int root, RootedForm form) {
    count_ = count;
    bytes_ = count * operation.element;
    operation_ = operation;
    const bool at_root = group().node() == root;
    auto* const own = static_cast<std::byte*>(const_cast<void*>(values));
    sum_ = at_root && result != nullptr ? static_cast<std::byte*>(result) : own;
    if (Hosted* hosted = by_hosts(operation.commutative)) {
        hosted->prepare_reduce(sum_, values, count, operation, root, form);
        return begin("reduce", call_of(root, bytes_, operation_));
    }
    form_ = reduce_form(group(), bytes_, form, operation);
    grid_ = operation.commutative ? &group() : &group().ordered();
    root_place_ = grid_->place_of(root);
    if (form_ != RootedForm::lines) {
        Plan plan;
        plan.flow = Flow::up;
        plan.trees =
            form_ == RootedForm::tree ? Group::Trees::dimension_ordered : Group::Trees::disjoint;
        plan.root_place = root_place_;
        plan.buffer = sum_;
        plan.values = own;
        plan.count = count;
        plan.operation = operation;
        lay_pipeline(plan);
        return begin("reduce", call_of(root, bytes_, operation_));
    }
    const int longest = grid_->longest();
    slot_bytes_ = Scratch::rounded(bytes_);
    std::byte* memory = memory_.reserve(slot_bytes_ * std::size_t(longest + 1));
    if (!at_root) sum_ = memory + slot_bytes_ * std::size_t(longest);
    if (sum_ != own && bytes_ != 0) std::memcpy(sum_, own, bytes_);
    dimension_ = grid_->dimensions() - 1;
    gathered_ = false;
    begin("reduce", call_of(root, bytes_, operation_));
}

bool Reduce::move() {
    if (goes_by_hosts()) return move_by_hosts();
    return form_ == RootedForm::lines ? Schedule::move() : move_pipeline();
}

// Along each line, the last dimension first, to the member at the root's coordinate.
bool Reduce::step() {
    if (gathered_) {
        if (bytes_ != 0)
            fold_line(operation_, sum_, grid_->coordinate(dimension_), memory_.reserve(0),
                      slot_bytes_, grid_->extent(dimension_), count_);
        --dimension_;
        gathered_ = false;
    }
    if (dimension_ < 0) return false;
    const int here = grid_->coordinate(dimension_);
    const int target = grid_->coordinate(root_place_, dimension_);
    if (here != target) {
        send({sum_, bytes_}, grid_->line_rank(dimension_, target));
        dimension_ = -1;
        return true;
    }
    std::byte* slots = memory_.reserve(0);
    for (int c = 0; c < grid_->extent(dimension_); ++c)
        if (c != here)
            receive({slots + slot_bytes_ * std::size_t(c), bytes_},
                    grid_->line_rank(dimension_, c));
    gathered_ = true;
    return true;
}

}  // namespace torusmp::collectives
