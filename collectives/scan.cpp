#include "collectives/scan.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace torusmp::collectives {
namespace {

// The form that the policy wants; two members need one message.
ScanForm scan_form(const Group& group, std::size_t bytes) {
    return group.size() == 2 ? ScanForm::chain
                             : ScanForm(group.form(config::Collective::scan, bytes));
}

}  // namespace

void Scan::start(void* buffer, std::size_t count, const Operation& operation, ScanKind kind,
                 ScanForm form) {
    buffer_ = static_cast<std::byte*>(buffer);
    count_ = count;
    bytes_ = count * operation.element;
    operation_ = operation;
    kind_ = kind;
    form_ = form != ScanForm::automatic ? form : scan_form(group(), bytes_);
    int slots = 0;
    if (form_ == ScanForm::lines) slots = group().longest();
    if (form_ == ScanForm::star && group().node() == 0) slots = group().size();
    slot_bytes_ = Scratch::rounded(bytes_);
    slots_ = scratch_.reserve(slot_bytes_ * std::size_t(slots + 4));
    total_ = slot(slots);
    before_ = slot(slots + 1);
    come_ = slot(slots + 2);
    spare_ = slot(slots + 3);
    if (form_ != ScanForm::chain) copy(total_, buffer_);
    any_before_ = false;

    posted_ = answered_ = false;
    dimension_ = group().dimensions() - 1;
    ring_step_ = 0;
    reach_ = 1;
    begin("scan", call_of(-1, bytes_, operation_));
}

bool Scan::step() {
    if (bytes_ == 0) return false;
    switch (form_) {
        case ScanForm::lines:
            return step_lines();
        case ScanForm::star:
            return step_star();
        case ScanForm::chain:
            return step_chain();
        default:
            return step_doubling();
    }
}

void Scan::copy(std::byte* to, const std::byte* from) const {
    if (bytes_ > 0 && to != from) std::memcpy(to, from, bytes_);
}

void Scan::combine(std::byte* a, const std::byte* b) const {
    operation_.combine(a, b, count_, operation_.closure);
}

// ---- lines: each gathers the totals of its members, the last dimension first ----

bool Scan::step_lines() {
    if (posted_) fold_line();
    posted_ = false;
    if (dimension_ < 0) {
        if (any_before_ && kind_ == ScanKind::inclusive) combine(before_, buffer_);
        if (any_before_) copy(buffer_, before_);
        return false;
    }
    const int extent = group().extent(dimension_);
    if (group().direct() || extent == 2 || !group().torus().periodic(dimension_)) {
        post_line();
        posted_ = true;
    } else {
        post_ring_step();
        posted_ = ring_step_ == extent / 2;
    }
    return true;
}

void Scan::post_line() {
    const int extent = group().extent(dimension_);
    const int here = group().coordinate(dimension_);
    for (int k = 1; k < extent; ++k) {
        const int from = (here + extent - k) % extent;
        receive({slot(from), bytes_}, group().line_rank(dimension_, from));
    }
    for (int k = 1; k < extent; ++k)
        send({total_, bytes_}, group().line_rank(dimension_, (here + k) % extent));
}

// Step k of a ring: to each side goes what came from the other side in step k - 1.
void Scan::post_ring_step() {
    const int extent = group().extent(dimension_);
    const int here = group().coordinate(dimension_);
    const auto at = [&](int offset) { return (here + offset + 2 * extent) % extent; };
    const auto total_of = [&](int c) { return c == here ? total_ : slot(c); };
    const Rank up = group().line_rank(dimension_, at(+1));
    const Rank down = group().line_rank(dimension_, at(-1));

    const int k = ++ring_step_;
    const bool both_ways = 2 * k != extent;
    receive({slot(at(-k)), bytes_}, down);
    if (both_ways) receive({slot(at(+k)), bytes_}, up);
    send({total_of(at(1 - k)), bytes_}, up);
    if (both_ways) send({total_of(at(k - 1)), bytes_}, down);
}

// The totals of a line are here: what stands before own, and the total of the whole line.
void Scan::fold_line() {
    const int here = group().coordinate(dimension_);
    std::byte* sum = here == 0 ? total_ : slot(0);
    for (int c = 1; c < group().extent(dimension_); ++c) {
        if (c == here) {
            // These nodes come before all that are known to be before own.
            copy(spare_, sum);
            if (any_before_) combine(spare_, before_);
            std::swap(spare_, before_);
            any_before_ = true;
        }
        combine(sum, c == here ? total_ : slot(c));
    }
    copy(total_, sum);
    --dimension_;
    ring_step_ = 0;
}

// ---- doubling: after step k each knows the total of the 2^k nodes that end with it ----

bool Scan::step_doubling() {
    if (posted_) take_doubled();
    const int node = group().node();
    if (reach_ >= group().size()) {
        if (kind_ == ScanKind::inclusive)
            copy(buffer_, total_);
        else if (any_before_)
            copy(buffer_, before_);
        return false;
    }
    if (node >= reach_) receive({come_, bytes_}, group().rank_of(node - reach_));
    if (node + reach_ < group().size()) send({total_, bytes_}, group().rank_of(node + reach_));
    posted_ = true;
    return true;
}

void Scan::take_doubled() {
    const bool came = group().node() >= reach_;
    reach_ *= 2;
    if (!came) return;
    if (kind_ == ScanKind::exclusive) {
        copy(spare_, come_);
        if (any_before_) combine(spare_, before_);
        std::swap(spare_, before_);
        any_before_ = true;
    }
    combine(come_, total_);
    std::swap(come_, total_);
}

// ---- chain: what all nodes before have goes from each to the next ----

bool Scan::step_chain() {
    const int node = group().node();
    if (!posted_ && node > 0) {
        posted_ = true;
        receive({before_, bytes_}, group().rank_of(node - 1));
        return true;
    }
    if (answered_ || (node == 0 && group().size() == 1)) return false;
    answered_ = true;
    const bool exclusive = kind_ == ScanKind::exclusive;
    const bool last = node + 1 == group().size();
    if (exclusive) {
        // The sum that goes on is not the result here.
        copy(total_, node == 0 ? buffer_ : before_);
        if (node > 0) combine(total_, buffer_);
        if (node > 0) copy(buffer_, before_);
    } else if (node > 0) {
        combine(before_, buffer_);
        copy(buffer_, before_);
    }
    if (!last) send({exclusive ? total_ : buffer_, bytes_}, group().rank_of(node + 1));
    return true;
}

// ---- star: node 0 works it out for all ----

bool Scan::step_star() {
    if (group().node() != 0) {
        if (posted_) return false;
        posted_ = true;
        // The answer comes only after our value was taken, so it may use its place.
        receive({buffer_, bytes_}, group().rank_of(0));
        send({buffer_, bytes_}, group().rank_of(0));
        return true;
    }
    if (answered_) return false;
    if (posted_) {
        answer_all();
        answered_ = true;
        return true;
    }
    posted_ = true;
    for (int node = 1; node < group().size(); ++node)
        receive({slot(node), bytes_}, group().rank_of(node));
    return true;
}

void Scan::answer_all() {
    for (int node = 1; node < group().size(); ++node) {
        if (kind_ == ScanKind::inclusive) {
            combine(total_, slot(node));
            copy(slot(node), total_);
        } else {
            copy(spare_, total_);
            combine(total_, slot(node));
            copy(slot(node), spare_);
        }
        send({slot(node), bytes_}, group().rank_of(node));
    }
}

}  // namespace torusmp::collectives
