// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/sim/clocks.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace torusmp::transport::sim::detail {

namespace {

Time rounded(double time) {
    return Time{std::llround(time)};
}

}  // namespace

Clocks::Clocks(const LinkModel& model)
    : model_(model), cores_(std::size_t(std::max(model.cores, 0))) {
    for (const double value :
         {model.latency, model.send_overhead, model.receive_overhead, model.send_per_byte,
          model.receive_per_byte, model.gap, model.gap_per_byte, model.reserve,
          model.node_gap_per_byte, model.forward, model.forward_per_byte, model.wake})
        if (!(value >= 0) || !std::isfinite(value))
            throw std::invalid_argument("a link model with a time that is negative or endless");
}

Clocks::Processor& Clocks::at(std::size_t rank) {
    if (rank >= processors_.size()) processors_.resize(rank + 1);
    return processors_[rank];
}

Time Clocks::cursor(std::size_t rank, Time now) const {
    return rank < processors_.size() ? std::max(now, processors_[rank].busy) : now;
}

Time Clocks::resumes(std::size_t rank, Time now) const {
    return rank < processors_.size() ? std::max(cursor(rank, now), processors_[rank].computing)
                                     : now;
}

void Clocks::spend(Processor& processor, Time now, double time) {
    const Time took = rounded(time);
    processor.busy = std::max(now, processor.busy) + took;
    if (processor.computing > now) processor.computing += took;
}

void Clocks::charge(Processor& processor, Time now) {
    if (processor.owed > 0) spend(processor, now, std::exchange(processor.owed, 0));
}

void Clocks::compute(std::size_t rank, Time now, double time) {
    Processor& processor = at(rank);
    charge(processor, now);
    if (model_.interrupts)
        processor.computing = resumes(rank, now) + rounded(time);
    else
        spend(processor, now, time);
}

Time Clocks::leaves(std::size_t rank, Time now, Time& line, std::size_t bytes, bool passes,
                    bool copied) {
    Processor& processor = at(rank);
    const auto size = double(bytes);
    if (passes) {
        processor.owed = 0;
        spend(processor, now, model_.forward + size * model_.forward_per_byte);
    } else {
        charge(processor, now);
        spend(processor, now, model_.send_overhead + (copied ? size * model_.send_per_byte : 0));
    }
    // It crosses the bus immediately, even if its link has others to send first, because nothing
    // else waits for that link.
    const double on_link = size + double(model_.header_bytes);
    processor.bus =
        std::max(processor.busy, processor.bus) + rounded(on_link * model_.node_gap_per_byte);
    const Time begins = std::max(processor.busy, line);
    const Time passed = begins + rounded(on_link * model_.gap_per_byte);
    const Time left = std::max(
        {passed - rounded(model_.reserve * model_.gap_per_byte), processor.busy, processor.bus});
    line = std::max({passed, processor.bus, begins + rounded(model_.gap)});
    return left;
}

Time Clocks::arrives(Time left) const {
    return left + rounded(model_.latency);
}

void Clocks::hand_over(std::size_t rank, std::size_t bytes) {
    at(rank).owed = model_.receive_overhead + double(bytes) * model_.receive_per_byte;
}

void Clocks::take(std::size_t rank, Time now) {
    charge(at(rank), now);
}

void Clocks::hold(std::size_t rank) {
    at(rank).owed = 0;
}

Clocks::Turn Clocks::turn(std::size_t rank, Time now) {
    if (running_) {
        CoreOf& core = cores_[*running_];
        core.free = std::max(core.free, at(core.rank).busy);
        running_.reset();
    }
    Processor& processor = at(rank);
    if (processor.asks_at <= now) processor.asks_at = Time{-1};
    const auto ask_again = [&](Time when) {
        if (processor.asks_at >= Time{0} && processor.asks_at <= when) return Turn{};
        processor.asks_at = when;
        return Turn{false, when};
    };
    if (processor.busy > now) return ask_again(processor.busy);
    if (cores_.empty()) return {true, {}};
    auto core = std::find_if(cores_.begin(), cores_.end(),
                             [&](const CoreOf& it) { return it.rank == rank && it.free <= now; });
    if (core == cores_.end())
        core = std::min_element(cores_.begin(), cores_.end(),
                                [](const CoreOf& a, const CoreOf& b) { return a.free < b.free; });
    if (core->free > now) return ask_again(core->free);
    if (std::exchange(core->rank, rank) != rank) spend(processor, now, model_.wake);
    running_ = std::size_t(core - cores_.begin());
    return {true, {}};
}

}  // namespace torusmp::transport::sim::detail
