#include "collectives/alltoall/lanes.h"

#include <algorithm>
#include <cstring>

namespace torusmp::collectives::alltoall {

void Lanes::lay_lanes(std::size_t count, std::size_t requests, std::size_t room) {
    const std::size_t block = block_bytes();
    lanes_.assign(block == 0 ? 0 : count, Lane{});
    const auto cells = std::size_t(group().size());
    std::byte* next = scratch_.reserve(block * (cells + room));
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        // Parts begin where any type may begin, so that copies are aligned.
        const auto cut = [&](std::size_t part) {
            return part == count ? block : block * part / count / 16 * 16;
        };
        lane.index = int(i);
        lane.from = cut(i);
        lane.width = cut(i + 1) - cut(i);
        lane.cells = next;
        lane.slabs = next + lane.width * cells;
        next += lane.width * (cells + room);
        lane.request = i * requests;
        collect(lane);
    }
    use_requests(requests * lanes_.size(), requests * lanes_.size());
}

void Lanes::collect(const Lane& lane) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(lane.cells + lane.width * std::size_t(place),
                    call_.out + call_.out_blocks.offset(group().node_at(place)) + lane.from,
                    lane.width);
}

void Lanes::deliver(const Lane& lane) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(call_.in + call_.in_blocks.offset(group().node_at(place)) + lane.from,
                    lane.cells + lane.width * std::size_t(place), lane.width);
}

bool Lanes::move() {
    bool done = true;
    for (Lane& lane : lanes_) done = move_lane(lane) && done;
    return done;
}

bool Lanes::move_lane(Lane& lane) {
    while (!lane.done) {
        if (!step_complete(lane)) return false;
        if (failed()) return false;
        if (lane.phase >= 0) take_step(lane);
        if (next_step(lane)) continue;
        deliver(lane);
        lane.done = true;
    }
    return true;
}

bool Lanes::step_complete(const Lane& lane) {
    for (std::size_t i = 0; i < lane.receives; ++i)
        if (!received(lane.request + i)) return false;
    for (std::size_t i = 0; i < lane.sends; ++i)
        if (!sent(lane.request + i)) return false;
    return true;
}

// False: all dimensions are done.
bool Lanes::next_step(Lane& lane) {
    lane.sends = lane.receives = 0;
    if (lane.phase < 0 || lane.step == steps_in(dimension_of(lane))) {
        if (++lane.phase == group().dimensions()) return false;
        lane.step = 0;
        enter_dimension(lane);
    }
    ++lane.step;
    post_step(lane);
    return true;
}

// The cells of a slab, runs of them at a time. Calls use(memory of the run, its bytes).
template <class Use>
void Lanes::each_run(const Lane& lane, int coordinate, Cells cells, Use&& use) const {
    const int d = dimension_of(lane);
    const auto stride = std::size_t(group().stride(d));
    const std::size_t outer = stride * std::size_t(group().extent(d));
    for (std::size_t i = cells.from; i < cells.to;) {
        const std::size_t inner = i % stride;
        const std::size_t run = std::min(stride - inner, cells.to - i);
        const std::size_t cell = i / stride * outer + std::size_t(coordinate) * stride + inner;
        use(lane.cells + cell * lane.width, run * lane.width);
        i += run;
    }
}

std::byte* Lanes::pack(const Lane& lane, int coordinate, Cells cells, std::byte* to) const {
    each_run(lane, coordinate, cells, [&](const std::byte* run, std::size_t bytes) {
        std::memcpy(to, run, bytes);
        to += bytes;
    });
    return to;
}

void Lanes::unpack(const Lane& lane, int coordinate, Cells cells, const std::byte* from) const {
    each_run(lane, coordinate, cells, [&](std::byte* run, std::size_t bytes) {
        std::memcpy(run, from, bytes);
        from += bytes;
    });
}

}  // namespace torusmp::collectives::alltoall
