#include "collectives/broadcast.h"

#include "collectives/hosted.h"

namespace torusmp::collectives {

void Broadcast::start(void* buffer, std::size_t bytes, int root, BroadcastForm form) {
    buffer_ = static_cast<std::byte*>(buffer);
    bytes_ = bytes;
    root_place_ = group().place_of(root);
    if (Hosted* hosted = by_hosts(true)) {
        hosted->prepare_broadcast(buffer, bytes, root, form);
        return begin("broadcast", {root, bytes});
    }
    form_ = form != BroadcastForm::automatic
                ? form
                : BroadcastForm(group().form(config::Collective::broadcast, bytes));
    if (form_ == BroadcastForm::tree || form_ == BroadcastForm::disjoint) {
        Plan plan;
        plan.flow = Flow::down;
        plan.trees =
            form_ == BroadcastForm::tree ? Group::Trees::dimension_ordered : Group::Trees::disjoint;
        plan.root_place = root_place_;
        plan.buffer = buffer_;
        plan.count = bytes;
        lay_pipeline(plan);
        return begin("broadcast", {root, bytes});
    }
    const int dimensions = group().dimensions();
    if (form_ == BroadcastForm::lines) {
        // Lines are served in ascending order: it comes over the last in which we are off the root.
        source_dimension_ = dimensions - 1;
        while (source_dimension_ >= 0 && at_root(source_dimension_)) --source_dimension_;
    } else {
        // Parts are dealt in descending order: it comes over the first.
        ranges_.cut(group(), bytes);
        source_dimension_ = 0;
        while (source_dimension_ < dimensions && at_root(source_dimension_)) ++source_dimension_;
        dimension_ = -1;
    }
    phase_ = Phase::take;
    begin("broadcast", {root, bytes});
}

bool Broadcast::move() {
    if (goes_by_hosts()) return move_by_hosts();
    const bool piped = form_ == BroadcastForm::tree || form_ == BroadcastForm::disjoint;
    return piped ? move_pipeline() : Schedule::move();
}

bool Broadcast::step() {
    return form_ == BroadcastForm::lines ? step_lines() : step_scatter();
}

bool Broadcast::step_lines() {
    if (phase_ == Phase::take) {
        phase_ = Phase::deal;
        if (source_dimension_ >= 0) {
            receive({buffer_, bytes_},
                    group().line_rank(source_dimension_,
                                      group().coordinate(root_place_, source_dimension_)));
            return true;
        }
    }
    if (phase_ != Phase::deal) return false;
    phase_ = Phase::end;
    for (int d = source_dimension_ + 1; d < group().dimensions(); ++d)
        for (int k = 1; k < group().extent(d); ++k)
            send({buffer_, bytes_},
                 group().line_rank(d, (group().coordinate(d) + k) % group().extent(d)));
    return true;
}

bool Broadcast::step_scatter() {
    const int dimensions = group().dimensions();
    if (phase_ == Phase::take) {
        phase_ = Phase::deal;
        if (source_dimension_ < dimensions) {
            const int d = source_dimension_;
            receive(memory(ranges_.line(d).part(group().coordinate(d), group().extent(d))),
                    group().line_rank(d, group().coordinate(root_place_, d)));
            return true;
        }
    }
    if (phase_ == Phase::deal) {
        phase_ = Phase::collect;
        for (int d = source_dimension_; d-- > 0;)
            for (int k = 1; k < group().extent(d); ++k) {
                const int c = (group().coordinate(d) + k) % group().extent(d);
                send(memory(ranges_.line(d).part(c, group().extent(d))), group().line_rank(d, c));
            }
        return true;
    }
    if (++dimension_ == dimensions) return false;
    const int extent = group().extent(dimension_);
    const int here = group().coordinate(dimension_);
    const Range line = ranges_.line(dimension_);
    for (int k = 1; k < extent; ++k) {
        const int from = (here + extent - k) % extent;
        receive(memory(line.part(from, extent)), group().line_rank(dimension_, from));
    }
    for (int k = 1; k < extent; ++k)
        send(memory(line.part(here, extent)), group().line_rank(dimension_, (here + k) % extent));
    return true;
}

}  // namespace torusmp::collectives
