#include "collectives/reduce_scatter.h"

#include <algorithm>
#include <cstring>

#include "collectives/bundles.h"

namespace torusmp::collectives {
namespace {

// Up to this many bytes in all the fewest messages are the quickest, if values must be taken in
// node order.
constexpr std::size_t tree_up_to = 8 * 1024;

// How many messages of `ordered` are under way at once, each way.
constexpr int step_window = 8;

// The form that the policy wants, or the next best that the operation allows.
ReduceScatterForm reduce_scatter_form(const Group& group, std::size_t bytes,
                                      const Operation& operation) {
    if (operation.whole) return ReduceScatterForm::tree;
    if (!operation.commutative)
        return bytes <= tree_up_to ? ReduceScatterForm::tree : ReduceScatterForm::ordered;
    return ReduceScatterForm(group.form(config::Collective::reduce_scatter, bytes));
}

}  // namespace

void ReduceScatter::start(void* result, const void* values, std::span<const std::size_t> counts,
                          const Operation& operation, ReduceScatterForm form) {
    result_ = static_cast<std::byte*>(result);
    operation_ = operation;
    sizes_.clear();
    offsets_.clear();
    bytes_ = 0;
    for (const std::size_t count : counts) {
        sizes_.push_back(count * operation.element);
        offsets_.push_back(bytes_);
        bytes_ += sizes_.back();
    }
    form_ = form;
    const bool keeps_order = form == ReduceScatterForm::ordered || form == ReduceScatterForm::tree;
    if (form == ReduceScatterForm::automatic || (!operation.commutative && !keeps_order) ||
        operation.whole)
        form_ = reduce_scatter_form(group(), bytes_, operation);
    take_values(values);
    phase_ = Phase::reduce;
    reach_ = 1;
    subtrees_ = 0;
    step_ = 0;
    begin("reduce-scatter", call_of(-1, bytes_, operation_));
}

// Forms that add into the vector have a copy of their own.
void ReduceScatter::take_values(const void* values) {
    const auto* bytes = static_cast<const std::byte*>(values);
    if (form_ == ReduceScatterForm::ordered) {
        use_blocks(const_cast<std::byte*>(bytes), Blocks::each(sizes_, offsets_));  // only read
        return;
    }
    sums_ = memory_.reserve(bytes_);
    if (bytes_ > 0) std::memcpy(sums_, bytes, bytes_);
    use_blocks(sums_, Blocks::each(sizes_, offsets_));
}

bool ReduceScatter::step() {
    if (bytes_ == 0) return false;
    switch (form_) {
        case ReduceScatterForm::rings:
            return step_rings();
        case ReduceScatterForm::ordered:
            return step_ordered();
        case ReduceScatterForm::tree:
            return step_tree();
        default:
            return step_lines();
    }
}

// In the order in which the receives were posted: always the same.
void ReduceScatter::add_received() {
    each_received([this](int node, const std::byte* values) {
        operation_.combine(block(node), values, sizes_[std::size_t(node)] / operation_.element,
                           operation_.closure);
    });
}

bool ReduceScatter::finish(const std::byte* own) {
    const std::size_t bytes = sizes_[std::size_t(group().node())];
    if (bytes > 0) std::memcpy(result_, own, bytes);
    return false;
}

// ---- rings: an allgather backwards; where blocks parted, partial sums come together ----

bool ReduceScatter::step_rings() {
    const Bundles& bundles = group().bundles();
    const int step = bundles.steps() - step_++;
    if (step < bundles.steps()) add_received();
    if (step == 0) return finish(block(group().node()));
    std::size_t bytes = 0;
    for (const auto direction : bundles.directions())
        bytes += bytes_of(bundles.in(step, direction)) + bytes_of(bundles.out(step, direction));
    begin_batch(bytes);
    // In a ring of two what is sent by + comes from -: the order of both ends is that of sending.
    for (const auto direction : bundles.directions())
        receive_apart(bundles.out(step, direction.opposite()), by(direction.opposite()));
    for (const auto direction : bundles.directions())
        send_blocks(bundles.in(step, direction), by(direction));
    return true;
}

// ---- lines: the first dimension first ----

bool ReduceScatter::step_lines() {
    const int d = step_++;
    if (d > 0) add_received();
    if (d == group().dimensions()) return finish(block(group().node()));
    const int here = group().coordinate(d);
    const int extent = group().extent(d);
    const int part = group().stride(d);
    const int first = group().place() / part * part;
    const auto slab = [&](int c) { return Places(first + (c - here) * part, part); };

    std::size_t bytes = std::size_t(extent) * bytes_of(slab(here));
    for (int c = 0; c < extent; ++c) bytes += bytes_of(slab(c));
    begin_batch(bytes);
    for (int c = 0; c < extent; ++c)
        if (c != here) receive_apart(slab(here), {group().line_rank(d, c)});
    for (int k = 1; k < extent; ++k) {
        const int c = (here + k) % extent;
        send_blocks(slab(c), {group().line_rank(d, c)});
    }
    return true;
}

// ---- ordered: everybody's values of own block, combined in node order ----

bool ReduceScatter::step_ordered() {
    const int size = group().size();
    const int node = group().node();
    const std::size_t own = sizes_[std::size_t(node)];
    if (step_ == 0) slots_ = memory_.reserve(own * std::size_t(size));
    const auto slot = [&](int from) { return slots_ + own * std::size_t(from); };
    if (step_ + 1 < size) {
        const int end = std::min(size, step_ + 1 + step_window);
        for (int k = step_ + 1; k < end; ++k) {
            const int from = (node + size - k) % size;
            if (own > 0) receive({slot(from), own}, group().rank_of(from));
        }
        for (int k = step_ + 1; k < end; ++k) {
            const int to = (node + k) % size;
            const std::size_t bytes = sizes_[std::size_t(to)];
            if (bytes > 0) send({block(to), bytes}, group().rank_of(to));
        }
        step_ = end - 1;
        return true;
    }
    if (own == 0) return false;
    std::memcpy(slot(node), block(node), own);
    for (int from = 1; from < size; ++from)
        operation_.combine(slot(0), slot(from), own / operation_.element, operation_.closure);
    return finish(slot(0));
}

// ---- tree: to node 0, in node order, and the blocks from there ----

// How many partial sums become one in a step.
int ReduceScatter::arity() const {
    const bool crowded = group().runtime().options().oversubscribed && group().direct();
    return crowded ? std::max(2, group().size()) : 2;
}

bool ReduceScatter::step_tree() {
    const int node = group().node();
    if (phase_ == Phase::reduce) {
        add_subtrees();
        if (post_subtrees()) return true;
        // Own block of the result comes last, when `values` is not needed any more.
        phase_ = Phase::deal;
        if (node == 0) {
            for (int to = 1; to < group().size(); ++to)
                if (sizes_[std::size_t(to)] > 0)
                    send({block(to), sizes_[std::size_t(to)]}, group().rank_of(to));
        } else {
            if (sizes_[std::size_t(node)] > 0)
                receive({result_, sizes_[std::size_t(node)]}, group().rank_of(0));
            send({sums_, bytes_}, group().rank_of(node - node % (reach_ * arity())));
        }
        return true;
    }
    return node == 0 ? finish(block(0)) : false;
}

// The sums of the next nodes, that many each as we stand for. False: none are left for us to take.
bool ReduceScatter::post_subtrees() {
    const int node = group().node();
    if (reach_ >= group().size() || node % (reach_ * arity()) != 0) return false;
    std::byte* slot = slots_ = slots_memory_.reserve(bytes_ * std::size_t(arity() - 1));
    subtrees_ = 0;
    for (int k = 1; k < arity() && node + k * reach_ < group().size(); ++k, ++subtrees_) {
        receive({slot, bytes_}, group().rank_of(node + k * reach_));
        slot += bytes_;
    }
    reach_ *= arity();
    return true;
}

void ReduceScatter::add_subtrees() {
    for (int k = 0; k < subtrees_; ++k)
        operation_.combine(sums_, slots_ + bytes_ * std::size_t(k), bytes_ / operation_.element,
                           operation_.closure);
    subtrees_ = 0;
}

}  // namespace torusmp::collectives
