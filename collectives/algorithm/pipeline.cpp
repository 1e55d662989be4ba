// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/pipeline.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace torusmp::collectives {
namespace {

// Segments of one stream in flight: enough to hide the round trip of the packets that prepare a
// remote write.
constexpr std::size_t segment_window = 4;
// A large stripe is cut into about this many segments, but no segment is below the eager limit
// (remote writes need no copies), nor above largest_segment.
constexpr std::size_t segments_wanted = 64;
constexpr std::size_t largest_segment = 256 * 1024;

}  // namespace

void Pipeline::lay_pipeline(const Plan& plan) {
    plan_ = plan;
    const std::vector<TreeLinks>& trees = group().routes().trees(plan.trees, plan.root_place);
    stripes_.resize(plan.count == 0 ? 0 : trees.size());
    sends_ = receives_ = 0;
    for (std::size_t i = 0; i < stripes_.size(); ++i) {
        Stripe& stripe = stripes_[i];
        stripe.from = plan.count * i / stripes_.size();
        stripe.count = plan.count * (i + 1) / stripes_.size() - stripe.from;
        lay_stripe(stripe, trees[i], int(i));
    }
    lay_memory();
    use_requests(sends_, receives_);
    const bool alone = group().size() == 1;
    if (plan.flow != Flow::down && alone && plan.count != 0 && plan.values != plan.buffer)
        std::memcpy(plan.buffer, plan.values, plan.count * plan.operation.element);
}

void Pipeline::lay_stripe(Stripe& stripe, const TreeLinks& links, int index) {
    const std::size_t element = plan_.operation.element;
    const std::size_t bytes = std::clamp(stripe.count * element / segments_wanted,
                                         group().runtime().options().eager_limit, largest_segment);
    stripe.segment = plan_.operation.whole ? stripe.count : (bytes + element - 1) / element;
    stripe.segments = stripe.count == 0 ? 0 : (stripe.count + stripe.segment - 1) / stripe.segment;
    stripe.folded = 0;
    const auto lay = [&](std::vector<Stream>& streams, bool wanted, std::size_t& requests,
                         std::span<const routing::Direction> directions, int number) {
        streams.clear();
        if (!wanted || stripe.segments == 0) return;
        for (const routing::Direction direction : directions) {
            streams.push_back({direction, requests, number, 0, 0, nullptr});
            requests += segment_window;
        }
    };
    std::span<const routing::Direction> parent;
    if (links.parent) parent = {&*links.parent, 1};
    const bool up = plan_.flow != Flow::down;
    const bool down = plan_.flow != Flow::up;
    lay(stripe.from_children, up, receives_, links.children, 2 * index);
    lay(stripe.to_parent, up, sends_, parent, 2 * index);
    lay(stripe.from_parent, down, receives_, parent, 2 * index + 1);
    lay(stripe.to_children, down, sends_, links.children, 2 * index + 1);
}

// Memory for the contributions of the children, and for the sums if the buffer must not be written.
void Pipeline::lay_memory() {
    const auto lay = [&](std::byte* memory) {
        std::size_t used = 0;
        for (Stripe& stripe : stripes_) {
            const std::size_t room =
                segment_window * Scratch::rounded(stripe.segment * plan_.operation.element);
            for (Stream& stream : stripe.from_children) {
                stream.slots = memory + used;
                used += room;
            }
            stripe.sums = nullptr;
            if (plan_.flow == Flow::up && !at_root() && !stripe.from_children.empty()) {
                stripe.sums = memory + used;
                used += room;
            }
        }
        return used;
    };
    static std::byte nothing{};
    const std::size_t needed = lay(&nothing);
    if (needed != 0) lay(scratch_.reserve(needed));
}

std::byte* Pipeline::slot(std::byte* slots, const Stripe& stripe, std::size_t index) const {
    return slots +
           index % segment_window * Scratch::rounded(stripe.segment * plan_.operation.element);
}

core::Buffer Pipeline::segment(std::byte* base, const Stripe& stripe, std::size_t index) const {
    const std::size_t count = std::min(stripe.segment, stripe.count - index * stripe.segment);
    return {base, count * plan_.operation.element};
}

// This member's own part of a segment.
const std::byte* Pipeline::own(const Stripe& stripe, std::size_t index) const {
    return plan_.values + (stripe.from + index * stripe.segment) * plan_.operation.element;
}

// Memory in which a segment is summed, and from which it is sent.
std::byte* Pipeline::sum(const Stripe& stripe, std::size_t index) const {
    if (stripe.sums != nullptr) return slot(stripe.sums, stripe, index);
    const std::size_t offset = (stripe.from + index * stripe.segment) * plan_.operation.element;
    if (stripe.from_children.empty() && !at_root())  // a leaf: its own values are the sum
        return const_cast<std::byte*>(plan_.values) + offset;
    return plan_.buffer + offset;
}

bool Pipeline::move() {
    bool finished = true;
    for (Stripe& stripe : stripes_) {
        if (plan_.flow != Flow::down) finished &= move_up(stripe);
        if (plan_.flow != Flow::up && !failed()) finished &= move_down(stripe);
        if (failed()) return false;
    }
    return finished;
}

// Adds the contributions of all children and sends the sums to the parent.
bool Pipeline::move_up(Stripe& stripe) {
    bool advanced = true;
    while (advanced) {
        advanced = false;
        for (Stream& child : stripe.from_children)
            while (child.posted < std::min(stripe.segments, stripe.folded + segment_window)) {
                receive_by(child.request + child.posted % segment_window, child.direction,
                           segment(slot(child.slots, stripe, child.posted), stripe, child.posted),
                           child.number);
                ++child.posted;
            }
        if (stripe.folded < stripe.segments && gather_contributions(stripe)) {
            fold(stripe);
            advanced = true;
        }
        for (Stream& parent : stripe.to_parent)
            advanced |= post_sends(parent, stripe, stripe.folded, true);
    }
    return stripe.folded == stripe.segments &&
           (stripe.to_parent.empty() || stripe.to_parent.front().done == stripe.segments);
}

// Whether all contributions to the next segment have arrived and there is room for its sum.
bool Pipeline::gather_contributions(Stripe& stripe) {
    if (stripe.sums != nullptr && stripe.folded >= stripe.to_parent.front().done + segment_window)
        return false;
    for (Stream& child : stripe.from_children) {
        if (child.done > stripe.folded) continue;
        if (!received(child.request + stripe.folded % segment_window) || failed()) return false;
        ++child.done;
    }
    return true;
}

void Pipeline::fold(Stripe& stripe) {
    const std::size_t index = stripe.folded++;
    if (stripe.from_children.empty()) return;
    std::byte* total = sum(stripe, index);
    const std::size_t bytes = segment(total, stripe, index).bytes;
    const std::byte* so_far = own(stripe, index);
    for (Stream& child : stripe.from_children) {
        plan_.operation.combine(total, so_far, slot(child.slots, stripe, index),
                                bytes / plan_.operation.element, plan_.operation.closure);
        so_far = total;
    }
}

// Sends the segments below `up_to` that the window allows. Returns true if some sends are complete.
bool Pipeline::post_sends(Stream& stream, const Stripe& stripe, std::size_t up_to, bool sums) {
    const std::size_t done_before = stream.done;
    const auto retire = [&] {
        while (stream.done < stream.posted && sent(stream.request + stream.done % segment_window))
            ++stream.done;
    };
    retire();
    while (stream.posted < up_to && stream.posted < stream.done + segment_window && !failed()) {
        const std::size_t offset =
            (stripe.from + stream.posted * stripe.segment) * plan_.operation.element;
        std::byte* from = sums ? sum(stripe, stream.posted) : plan_.buffer + offset;
        send_by(stream.request + stream.posted % segment_window, stream.direction,
                segment(from, stripe, stream.posted), stream.number);
        ++stream.posted;
        retire();
    }
    return stream.done != done_before;
}

// Receives finished segments from the parent and forwards them to the children.
bool Pipeline::move_down(Stripe& stripe) {
    std::size_t there = plan_.flow == Flow::down ? stripe.segments : stripe.folded;  // at the root
    for (Stream& parent : stripe.from_parent) {
        // If the memory still holds values on their way up, the result waits until these are sent.
        const std::size_t free =
            plan_.flow == Flow::down ? stripe.segments : stripe.to_parent.front().done;
        const auto take = [&] {
            while (parent.done < parent.posted &&
                   received(parent.request + parent.done % segment_window))
                ++parent.done;
        };
        take();
        while (parent.posted < std::min(free, parent.done + segment_window) && !failed()) {
            const std::size_t offset =
                (stripe.from + parent.posted * stripe.segment) * plan_.operation.element;
            receive_by(parent.request + parent.posted % segment_window, parent.direction,
                       segment(plan_.buffer + offset, stripe, parent.posted), parent.number);
            ++parent.posted;
            take();
        }
        there = parent.done;
    }
    bool finished = there == stripe.segments;
    for (Stream& child : stripe.to_children) {
        post_sends(child, stripe, there, false);
        finished &= child.done == stripe.segments;
    }
    return finished;
}

}  // namespace torusmp::collectives
