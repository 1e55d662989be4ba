#include "collectives/algorithm/pipeline.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace torusmp::collectives {
namespace {

// Segments of one stream under way at once: enough to hide the way there and back of the packets
// that prepare a remote write.
constexpr std::size_t segment_window = 4;
// A stripe is cut into about so many segments where it is large, but no segment is below the eager
// limit (remote writes need no copies), nor above this.
constexpr std::size_t segments_wanted = 64;
constexpr std::size_t largest_segment = 256 * 1024;

}  // namespace

void Pipeline::lay_pipeline(const Plan& plan) {
    plan_ = plan;
    const std::vector<TreeLinks>& trees = group().trees(plan.trees, plan.root_place);
    lanes_.resize(plan.count == 0 ? 0 : trees.size());
    sends_ = receives_ = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        lane.from = plan.count * i / lanes_.size();
        lane.count = plan.count * (i + 1) / lanes_.size() - lane.from;
        lay_lane(lane, trees[i], int(i));
    }
    lay_memory();
    use_requests(sends_, receives_);
    if (plan.flow != Flow::down && at_root() && plan.count != 0 && plan.values != plan.buffer)
        std::memcpy(plan.buffer, plan.values, plan.count * plan.operation.element);
}

void Pipeline::lay_lane(Lane& lane, const TreeLinks& links, int index) {
    const std::size_t element = plan_.operation.element;
    const std::size_t bytes = std::clamp(lane.count * element / segments_wanted,
                                         group().runtime().options().eager_limit, largest_segment);
    lane.segment = plan_.operation.whole ? lane.count : (bytes + element - 1) / element;
    lane.segments = lane.count == 0 ? 0 : (lane.count + lane.segment - 1) / lane.segment;
    lane.folded = 0;
    const auto lay = [&](std::vector<Stream>& streams, bool wanted, std::size_t& requests,
                         std::span<const routing::Direction> directions, int number) {
        streams.clear();
        if (!wanted || lane.segments == 0) return;
        for (const routing::Direction direction : directions) {
            streams.push_back({direction, requests, number, 0, 0, nullptr});
            requests += segment_window;
        }
    };
    std::span<const routing::Direction> parent;
    if (links.parent) parent = {&*links.parent, 1};
    const bool up = plan_.flow != Flow::down;
    const bool down = plan_.flow != Flow::up;
    lay(lane.from_children, up, receives_, links.children, 2 * index);
    lay(lane.to_parent, up, sends_, parent, 2 * index);
    lay(lane.from_parent, down, receives_, parent, 2 * index + 1);
    lay(lane.to_children, down, sends_, links.children, 2 * index + 1);
}

// Room for what children contribute, and for the sums where the buffer must not be touched.
void Pipeline::lay_memory() {
    const auto lay = [&](std::byte* memory) {
        std::size_t used = 0;
        for (Lane& lane : lanes_) {
            const std::size_t room =
                segment_window * Scratch::rounded(lane.segment * plan_.operation.element);
            for (Stream& stream : lane.from_children) {
                stream.slots = memory + used;
                used += room;
            }
            lane.sums = nullptr;
            if (plan_.flow == Flow::up && !at_root() && !lane.from_children.empty()) {
                lane.sums = memory + used;
                used += room;
            }
        }
        return used;
    };
    static std::byte nothing{};
    const std::size_t needed = lay(&nothing);
    if (needed != 0) lay(scratch_.reserve(needed));
}

std::byte* Pipeline::slot(std::byte* slots, const Lane& lane, std::size_t index) const {
    return slots +
           index % segment_window * Scratch::rounded(lane.segment * plan_.operation.element);
}

core::Buffer Pipeline::segment(std::byte* base, const Lane& lane, std::size_t index) const {
    const std::size_t count = std::min(lane.segment, lane.count - index * lane.segment);
    return {base, count * plan_.operation.element};
}

// This member's own part of a segment.
const std::byte* Pipeline::own(const Lane& lane, std::size_t index) const {
    return plan_.values + (lane.from + index * lane.segment) * plan_.operation.element;
}

// Where a segment is added up, and sent on from.
std::byte* Pipeline::sum(const Lane& lane, std::size_t index) const {
    if (lane.sums != nullptr) return slot(lane.sums, lane, index);
    const std::size_t offset = (lane.from + index * lane.segment) * plan_.operation.element;
    if (plan_.flow == Flow::up && !at_root())  // a leaf: its own values are the sum
        return const_cast<std::byte*>(plan_.values) + offset;
    return plan_.buffer + offset;
}

bool Pipeline::move() {
    bool finished = true;
    for (Lane& lane : lanes_) {
        if (plan_.flow != Flow::down) finished &= move_up(lane);
        if (plan_.flow != Flow::up && !failed()) finished &= move_down(lane);
        if (failed()) return false;
    }
    return finished;
}

// Adds what has come from all children and passes it on to the parent.
bool Pipeline::move_up(Lane& lane) {
    bool advanced = true;
    while (advanced) {
        advanced = false;
        for (Stream& child : lane.from_children)
            while (child.posted < std::min(lane.segments, lane.folded + segment_window)) {
                receive_by(child.request + child.posted % segment_window, child.direction,
                           segment(slot(child.slots, lane, child.posted), lane, child.posted),
                           child.number);
                ++child.posted;
            }
        if (lane.folded < lane.segments && gather_contributions(lane)) {
            fold(lane);
            advanced = true;
        }
        for (Stream& parent : lane.to_parent)
            advanced |= post_sends(parent, lane, lane.folded, true);
    }
    return lane.folded == lane.segments &&
           (lane.to_parent.empty() || lane.to_parent.front().done == lane.segments);
}

// Whether all contributions to the next segment are there, and room for its sum.
bool Pipeline::gather_contributions(Lane& lane) {
    if (lane.sums != nullptr && lane.folded >= lane.to_parent.front().done + segment_window)
        return false;
    for (Stream& child : lane.from_children) {
        if (child.done > lane.folded) continue;
        if (!received(child.request + lane.folded % segment_window) || failed()) return false;
        ++child.done;
    }
    return true;
}

void Pipeline::fold(Lane& lane) {
    const std::size_t index = lane.folded++;
    if (lane.from_children.empty()) return;
    std::byte* total = sum(lane, index);
    const std::size_t bytes = segment(total, lane, index).bytes;
    if (lane.sums != nullptr) std::memcpy(total, own(lane, index), bytes);
    for (Stream& child : lane.from_children)
        plan_.operation.combine(total, slot(child.slots, lane, index),
                                bytes / plan_.operation.element, plan_.operation.closure);
}

// Sends the segments below `up_to` that the window allows. True: some are done.
bool Pipeline::post_sends(Stream& stream, const Lane& lane, std::size_t up_to, bool sums) {
    const std::size_t done_before = stream.done;
    const auto retire = [&] {
        while (stream.done < stream.posted && sent(stream.request + stream.done % segment_window))
            ++stream.done;
    };
    retire();
    while (stream.posted < up_to && stream.posted < stream.done + segment_window && !failed()) {
        const std::size_t offset =
            (lane.from + stream.posted * lane.segment) * plan_.operation.element;
        std::byte* from = sums ? sum(lane, stream.posted) : plan_.buffer + offset;
        send_by(stream.request + stream.posted % segment_window, stream.direction,
                segment(from, lane, stream.posted), stream.number);
        ++stream.posted;
        retire();
    }
    return stream.done != done_before;
}

// Takes finished segments from the parent and passes them on to the children.
bool Pipeline::move_down(Lane& lane) {
    std::size_t there = plan_.flow == Flow::down ? lane.segments : lane.folded;  // at the root
    for (Stream& parent : lane.from_parent) {
        // Where the memory still holds what goes up, the result has to wait until that is sent.
        const std::size_t free =
            plan_.flow == Flow::down ? lane.segments : lane.to_parent.front().done;
        const auto take = [&] {
            while (parent.done < parent.posted &&
                   received(parent.request + parent.done % segment_window))
                ++parent.done;
        };
        take();
        while (parent.posted < std::min(free, parent.done + segment_window) && !failed()) {
            const std::size_t offset =
                (lane.from + parent.posted * lane.segment) * plan_.operation.element;
            receive_by(parent.request + parent.posted % segment_window, parent.direction,
                       segment(plan_.buffer + offset, lane, parent.posted), parent.number);
            ++parent.posted;
            take();
        }
        there = parent.done;
    }
    bool finished = there == lane.segments;
    for (Stream& child : lane.to_children) {
        post_sends(child, lane, there, false);
        finished &= child.done == lane.segments;
    }
    return finished;
}

}  // namespace torusmp::collectives
