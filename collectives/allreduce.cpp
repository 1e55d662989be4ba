#include "collectives/allreduce.h"

#include <algorithm>
#include <cstring>

#include "collectives/hosted.h"

namespace torusmp::collectives {
namespace {

bool cuts(ReduceForm form) {
    return form == ReduceForm::scatter || form == ReduceForm::disjoint;
}

// The form that the policy wants.
ReduceForm allreduce_form(const Group& group, std::size_t bytes) {
    const auto form = ReduceForm(group.form(config::Collective::allreduce, bytes));
    return cuts(form) && group.size() == 2 ? ReduceForm::lines : form;
}

// That form, or the next best that the operation allows.
ReduceForm allowed(ReduceForm form, const Operation& operation) {
    if (cuts(form) && operation.whole) return ReduceForm::lines;
    return form == ReduceForm::disjoint && !operation.commutative ? ReduceForm::scatter : form;
}

}  // namespace

void Allreduce::start(void* buffer, std::size_t count, const Operation& operation,
                      ReduceForm form) {
    buffer_ = static_cast<std::byte*>(buffer);
    count_ = count;
    bytes_ = count * operation.element;
    operation_ = operation;
    const bool barrier = operation.combine == nullptr;
    const std::string_view name = barrier ? "barrier" : "allreduce";
    const Call call = barrier ? Call{} : call_of(-1, bytes_, operation);
    if (Hosted* hosted = by_hosts(operation.commutative)) {
        hosted->prepare_allreduce(buffer, count, operation, form);
        return begin(name, call);
    }
    grid_ = operation.commutative ? &group() : &group().ordered();
    if (form == ReduceForm::automatic) form = allreduce_form(group(), bytes_);
    form_ = allowed(form, operation);
    if (form_ == ReduceForm::disjoint) {
        Plan plan;
        plan.flow = Flow::up_and_down;
        plan.trees = Group::Trees::disjoint;
        plan.root_place = group().middle();
        plan.buffer = buffer_;
        plan.values = buffer_;
        plan.count = count;
        plan.operation = operation;
        lay_pipeline(plan);
        return begin(name, call);
    }
    if (form_ == ReduceForm::scatter) ranges_.cut(grid(), count);

    const int longest = grid().longest();
    slot_bytes_ = Scratch::rounded(bytes_);
    if (form_ == ReduceForm::scatter && longest > 0)
        slot_bytes_ =
            Scratch::rounded((count / 2 + 1) * operation.element);  // a part is at most half
    // Of a star the first member alone gathers.
    const int of_star = grid().place() == 0 ? grid().size() : 0;
    const int slots = form_ == ReduceForm::star ? of_star : longest;
    slots_ = scratch_.reserve(slot_bytes_ * std::size_t(slots));

    phase_ = Phase::reduce;
    dimension_ = grid().dimensions() - 1;
    line_step_ = 0;
    begin(name, call);
}

void Allreduce::start_barrier() {
    start(nullptr, 0, Operation{});
}

bool Allreduce::move() {
    if (goes_by_hosts()) return move_by_hosts();
    return form_ == ReduceForm::disjoint ? move_pipeline() : Schedule::move();
}

bool Allreduce::step() {
    switch (form_) {
        case ReduceForm::exchange:
            return step_exchange();
        case ReduceForm::star:
            return step_star();
        case ReduceForm::scatter:
            return step_scatter();
        default:
            return step_lines();
    }
}

// Adds the contributions of a line in the order of their coordinates into `own`, which holds this
// member's contribution; the others stand in the slots.
void Allreduce::fold(std::byte* own, std::size_t count) {
    if (count == 0 || operation_.element == 0 || bytes_ == 0) return;
    fold_line(operation_, own, grid().coordinate(dimension_), slots_, slot_bytes_,
              grid().extent(dimension_), count);
}

// ---- exchange: along each line everybody gets every contribution ----

bool Allreduce::step_exchange() {
    if (phase_ == Phase::reduced) {  // a line has been gathered
        fold(buffer_, count_);
        --dimension_;
        line_step_ = 0;
    }
    phase_ = Phase::reduce;
    if (dimension_ < 0) return false;
    if (grid().direct() || grid().extent(dimension_) == 2) {
        post_direct_gather();
        phase_ = Phase::reduced;
    } else {
        post_line_step();
        const int extent = grid().extent(dimension_);
        const int last = grid().torus().periodic(dimension_) ? extent / 2 : extent - 1;
        if (line_step_ == last) phase_ = Phase::reduced;
    }
    return true;
}

void Allreduce::post_direct_gather() {
    const int extent = grid().extent(dimension_);
    const int here = grid().coordinate(dimension_);
    for (int k = 1; k < extent; ++k) {
        const int from = (here + extent - k) % extent;
        receive({slot(from), bytes_}, grid().line_rank(dimension_, from));
    }
    for (int k = 1; k < extent; ++k)
        send({buffer_, bytes_}, grid().line_rank(dimension_, (here + k) % extent));
}

// Step k: to each side goes what came from the other side in step k - 1, so that everything has
// come the shorter way round a ring after floor(extent / 2) steps, and along an open line after
// extent - 1.
void Allreduce::post_line_step() {
    const int extent = grid().extent(dimension_);
    const int here = grid().coordinate(dimension_);
    const bool ring = grid().torus().periodic(dimension_);
    const auto at = [&](int offset) { return (here + offset + 2 * extent) % extent; };
    const auto there = [&](int offset) {
        return ring || (here + offset >= 0 && here + offset < extent);
    };
    const auto contribution = [&](int c) { return c == here ? buffer_ : slot(c); };
    const auto up = [&] { return grid().line_rank(dimension_, at(+1)); };
    const auto down = [&] { return grid().line_rank(dimension_, at(-1)); };

    const int k = ++line_step_;
    const bool both_ways = !ring || 2 * k != extent;
    if (there(-k)) receive({slot(at(-k)), bytes_}, down());
    if (both_ways && there(+k)) receive({slot(at(+k)), bytes_}, up());
    if (there(+1) && there(1 - k)) send({contribution(at(1 - k)), bytes_}, up());
    if (both_ways && there(-1) && there(k - 1)) send({contribution(at(k - 1)), bytes_}, down());
}

// ---- star: everybody to the first member, and back from it ----

bool Allreduce::step_star() {
    const auto rank_at = [this](int place) { return grid().rank_of(grid().node_at(place)); };
    if (phase_ == Phase::reduce && grid().place() != 0) {
        // The result comes only after our contribution was taken, so it may use its place.
        receive({buffer_, bytes_}, rank_at(0));
        send({buffer_, bytes_}, rank_at(0));
        phase_ = Phase::end;
        return true;
    }
    if (phase_ == Phase::reduce) {
        for (int p = 1; p < grid().size(); ++p) receive({slot(p), bytes_}, rank_at(p));
        phase_ = Phase::reduced;
        return true;
    }
    if (phase_ != Phase::reduced) return false;
    fold_all();
    for (int p = 1; p < grid().size(); ++p) send({buffer_, bytes_}, rank_at(p));
    phase_ = Phase::end;
    return true;
}

// Adds what stands in the slots by place into the buffer.
void Allreduce::fold_all() {
    if (bytes_ == 0) return;
    std::memcpy(slot(grid().place()), buffer_, bytes_);
    // The last dimension is the fastest: its lines are runs of places, whose sums are the places of
    // a grid without it.
    for (int d = grid().dimensions() - 1, left = grid().size(); d >= 0; --d) {
        const int extent = grid().extent(d);
        left /= extent;
        for (int line = 0; line < left; ++line) {
            for (int c = 1; c < extent; ++c)
                operation_.combine(slot(line * extent), slot(line * extent + c), count_,
                                   operation_.closure);
            if (line != 0) std::memcpy(slot(line), slot(line * extent), bytes_);
        }
    }
    std::memcpy(buffer_, slot(0), bytes_);
}

// ---- tree: each line to its first member; back from it ----

bool Allreduce::step_lines() {
    if (phase_ == Phase::reduced) {  // the contributions of a line have come to its first member
        fold(buffer_, count_);
        --dimension_;
        phase_ = Phase::reduce;
    }
    if (phase_ == Phase::reduce) {
        if (dimension_ >= 0 && grid().coordinate(dimension_) == 0) {
            for (int c = 1; c < grid().extent(dimension_); ++c)
                receive({slot(c), bytes_}, grid().line_rank(dimension_, c));
            phase_ = Phase::reduced;
            return true;
        }
        phase_ = Phase::spread;
        if (dimension_ >= 0) {
            // The result comes only after our contribution was taken, so it may use its place.
            const Rank first = grid().line_rank(dimension_, 0);
            receive({buffer_, bytes_}, first);
            send({buffer_, bytes_}, first);
            return true;
        }
    }
    if (phase_ != Phase::spread) return false;
    for (int d = dimension_ + 1; d < grid().dimensions(); ++d)
        for (int c = 1; c < grid().extent(d); ++c) send({buffer_, bytes_}, grid().line_rank(d, c));
    phase_ = Phase::end;
    return true;
}

// ---- scatter: each member adds one part; then the parts are gathered ----

bool Allreduce::step_scatter() {
    if (phase_ == Phase::reduced) {
        const Range own =
            ranges_.line(dimension_).part(grid().coordinate(dimension_), grid().extent(dimension_));
        fold(buffer_ + own.from * operation_.element, own.size());
        --dimension_;
        phase_ = Phase::reduce;
    }
    if (phase_ == Phase::reduce && dimension_ >= 0) {
        post_cut();
        phase_ = Phase::reduced;
        return true;
    }
    phase_ = Phase::spread;
    if (++dimension_ == grid().dimensions()) return false;
    post_collect();
    return true;
}

// Every member of the line gets its part of what the line owns, from all others.
void Allreduce::post_cut() {
    const int extent = grid().extent(dimension_);
    const int here = grid().coordinate(dimension_);
    const Range line = ranges_.line(dimension_);
    const std::size_t own = line.part(here, extent).size() * operation_.element;
    for (int k = 1; k < extent; ++k) {
        const int from = (here + extent - k) % extent;
        receive({slot(from), own}, grid().line_rank(dimension_, from));
    }
    for (int k = 1; k < extent; ++k) {
        const int to = (here + k) % extent;
        const Range part = line.part(to, extent);
        send({buffer_ + part.from * operation_.element, part.size() * operation_.element},
             grid().line_rank(dimension_, to));
    }
}

// The way back: every member of the line gives its part to all others.
void Allreduce::post_collect() {
    const int extent = grid().extent(dimension_);
    const int here = grid().coordinate(dimension_);
    const Range line = ranges_.line(dimension_);
    const auto memory = [&](int c) {
        const Range part = line.part(c, extent);
        return core::Buffer(buffer_ + part.from * operation_.element,
                            part.size() * operation_.element);
    };
    for (int k = 1; k < extent; ++k) {
        const int from = (here + extent - k) % extent;
        receive(memory(from), grid().line_rank(dimension_, from));
    }
    for (int k = 1; k < extent; ++k)
        send(memory(here), grid().line_rank(dimension_, (here + k) % extent));
}

}  // namespace torusmp::collectives
