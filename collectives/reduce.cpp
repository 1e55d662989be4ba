#include "collectives/reduce.h"

#include <algorithm>
#include <cstring>

#include "collectives/hosted.h"

namespace torusmp::collectives {
namespace {

RootedForm choose_form(const Group& group, std::size_t bytes, RootedForm wanted,
                       const Operation& operation) {
    if (!operation.commutative) return RootedForm::lines;
    if (wanted == RootedForm::automatic)
        wanted = RootedForm(group.form(config::Collective::reduce, bytes));
    return operation.whole && wanted == RootedForm::disjoint ? RootedForm::tree : wanted;
}

}  // namespace

Reduce::Reduce(Group& group) : Pipeline(group) {}
Reduce::~Reduce() = default;

// Whether it goes by hosts.
bool Reduce::is_hosted(const Operation& operation) {
    Hosts* hosts = operation.commutative ? group().hosts() : nullptr;
    uses_hosts_ = hosts != nullptr;
    if (uses_hosts_ && hosted_ == nullptr) {
        hosted_ = std::make_unique<Hosted>(group(), *hosts);
        nest(*hosted_);
    }
    return uses_hosts_;
}

void Reduce::start(void* result, const void* values, std::size_t count, const Operation& operation,
                   int root, RootedForm form) {
    count_ = count;
    bytes_ = count * operation.element;
    operation_ = operation;
    const bool at_root = group().node() == root;
    auto* const own = static_cast<std::byte*>(const_cast<void*>(values));
    sum_ = at_root && result != nullptr ? static_cast<std::byte*>(result) : own;
    if (is_hosted(operation)) {
        hosted_->prepare_reduce(sum_, values, count, operation, root, form);
        return begin("reduce", {root, bytes_});
    }
    form_ = choose_form(group(), bytes_, form, operation);
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
        return begin("reduce", {root, bytes_});
    }
    int longest = 0;
    for (int d = 0; d < grid_->dimensions(); ++d) longest = std::max(longest, grid_->extent(d));
    slot_bytes_ = (bytes_ + 15) / 16 * 16;
    std::byte* memory = memory_.reserve(slot_bytes_ * std::size_t(longest + 1));
    if (!at_root) sum_ = memory + slot_bytes_ * std::size_t(longest);
    if (sum_ != own && bytes_ != 0) std::memcpy(sum_, own, bytes_);
    dimension_ = grid_->dimensions() - 1;
    gathered_ = false;
    begin("reduce", {root, bytes_});
}

bool Reduce::move() {
    if (uses_hosts_) return move_part(*hosted_);
    return form_ == RootedForm::lines ? Schedule::move() : move_pipeline();
}

// Along each line, the last dimension first, to the member at the root's coordinate.
bool Reduce::step() {
    if (gathered_) {
        fold();
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

// Adds a line's contributions in the order of their coordinates.
void Reduce::fold() {
    if (bytes_ == 0) return;
    std::byte* slots = memory_.reserve(0);
    const int here = grid_->coordinate(dimension_);
    const auto contribution = [&](int c) {
        return c == here ? sum_ : slots + slot_bytes_ * std::size_t(c);
    };
    std::byte* total = contribution(0);
    for (int c = 1; c < grid_->extent(dimension_); ++c)
        operation_.combine(total, contribution(c), count_, operation_.closure);
    if (total != sum_) std::memcpy(sum_, total, bytes_);
}

}  // namespace torusmp::collectives
