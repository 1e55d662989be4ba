#include "collectives/alltoall.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace torusmp::collectives {
namespace {

// Where the grid's neighbours are none on the wires, rings only make ways longer: for blocks larger
// than this.
constexpr std::size_t detours_up_to = 1024;
// Up to this many bytes to all others the number of messages counts for more than busy links.
constexpr std::size_t one_lane_up_to = 8 * 1024;
// What rings keep in memory is several times what a member sends.
constexpr std::size_t rings_up_to = 64 * 1024 * 1024;
// Messages that are under way at once, each way, where others relay them.
constexpr int offset_window = 8;

bool on_links(const Group& group) {
    for (int d = 0; d < group.dimensions(); ++d)
        for (const int sign : {+1, -1})
            if (group.neighbour({d, sign}) != core::any_source && !group.link({d, sign}))
                return false;
    return true;
}

// The form that the policy wants, unless it cannot pay here.
AlltoallForm alltoall_form(const Group& group, std::size_t block) {
    const auto form = AlltoallForm(group.form(config::Collective::alltoall, block));
    if (form != AlltoallForm::rings) return form;
    const bool detours = block > detours_up_to && !on_links(group);
    const bool too_large = block * std::size_t(group.size()) > rings_up_to;
    return detours || too_large ? AlltoallForm::pairs : form;
}

}  // namespace

void Alltoall::start(void* in, const Blocks& in_blocks, const void* out, const Blocks& out_blocks,
                     AlltoallForm form) {
    in_ = static_cast<std::byte*>(in);
    out_ = static_cast<const std::byte*>(out);
    in_blocks_ = in_blocks;
    out_blocks_ = out_blocks;
    const bool even = in_blocks.is_even() && out_blocks.is_even();
    form_ = !even                             ? AlltoallForm::pairs
            : form == AlltoallForm::automatic ? alltoall_form(group(), out_blocks.size(0))
                                              : form;
    if (form_ == AlltoallForm::pairs)
        begin_pairs();
    else
        begin_lanes();
    begin("alltoall", {-1, even ? out_blocks.size(0) : Call::any_bytes});
}

bool Alltoall::move() {
    if (form_ == AlltoallForm::pairs) return move_pairs();
    bool done = true;
    for (Lane& lane : lanes_) done = move_lane(lane) && done;
    return done;
}

// ---- pairs ----

void Alltoall::begin_pairs() {
    const int size = group().size();
    const int node = group().node();
    if (const std::size_t own = out_blocks_.size(node); own > 0)
        std::memcpy(in_ + in_blocks_.offset(node), out_ + out_blocks_.offset(node), own);
    // Offsets that follow each other lie in different directions.
    stride_ = std::max(1, int(0.618 * size));
    while (std::gcd(stride_, size) != 1) ++stride_;
    const auto slots = std::size_t(group().direct() ? size : std::min(size, offset_window));
    use_requests(slots, slots);
    for (Pair& pair : pairs_) {
        pair.next = 1;
        pair.busy.assign(slots, false);
    }
}

// The member at the k-th offset ahead, or behind: for all members another one.
int Alltoall::at_offset(int index, int sign) const {
    const int offset = int(std::int64_t(index) * stride_ % group().size());
    int place = 0;
    for (int d = 0; d < group().dimensions(); ++d) {
        const int extent = group().extent(d);
        const int steps = sign * group().coordinate(offset, d);
        place += (group().coordinate(d) + steps + extent) % extent * group().stride(d);
    }
    return group().node_at(place);
}

// Nobody waits in a circle: the first offset that is not done anywhere is in the window of all.
bool Alltoall::move_pairs() {
    bool done = true;
    for (const bool sending : {false, true}) {
        Pair& pair = pairs_[sending ? 0 : 1];
        for (std::size_t slot = 0; slot < pair.busy.size(); ++slot) {
            // What is complete as soon as it is posted moves nothing later that would bring us
            // back: look at once.
            do {
                if (pair.busy[slot] && !(sending ? sent(slot) : received(slot))) break;
                if (failed()) return false;
                pair.busy[slot] = post_next(pair, slot, sending);
            } while (pair.busy[slot]);
            done = done && !pair.busy[slot];
        }
    }
    return done;
}

// False: none is left.
bool Alltoall::post_next(Pair& pair, std::size_t slot, bool sending) {
    const Blocks& blocks = sending ? out_blocks_ : in_blocks_;
    while (pair.next < group().size()) {
        const int node = at_offset(pair.next++, sending ? +1 : -1);
        const std::size_t bytes = blocks.size(node);
        if (bytes == 0) continue;
        if (sending)
            send(slot, {out_ + blocks.offset(node), bytes}, group().rank_of(node));
        else
            receive(slot, {in_ + blocks.offset(node), bytes}, group().rank_of(node));
        return true;
    }
    return false;
}

// ---- lanes ----

void Alltoall::begin_lanes() {
    const std::size_t block = out_blocks_.size(0);
    const bool one = form_ == AlltoallForm::lines || group().dimensions() < 2 ||
                     block * std::size_t(group().size()) <= one_lane_up_to;
    const std::size_t count = one ? 1 : std::size_t(group().dimensions());
    lanes_.assign(block == 0 ? 0 : count, Lane{});
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i].first_dimension = int(i);
        // Parts begin where any type may begin, so that copies are aligned.
        const auto cut = [&](std::size_t part) {
            return part == count ? block : block * part / count / 16 * 16;
        };
        lanes_[i].from = cut(i);
        lanes_[i].width = cut(i + 1) - cut(i);
    }
    lay_memory();
    for (const Lane& lane : lanes_) collect(lane);
    const std::size_t each = form_ == AlltoallForm::rings ? 2 : std::size_t(group().size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].request = i * each;
    use_requests(each * lanes_.size(), each * lanes_.size());
}

// For each lane its cells, and for each arm three times the slabs that go round that way.
void Alltoall::lay_memory() {
    std::size_t most = 0;
    for (int d = 0; d < group().dimensions(); ++d) {
        const int slabs = form_ == AlltoallForm::lines ? group().extent(d) : steps_in(d);
        most = std::max(most, std::size_t(slabs) * slab_size(d));
    }
    const std::size_t cells = std::size_t(group().size());
    std::size_t bytes = 0;
    for (const Lane& lane : lanes_) bytes += lane.width * (cells + 6 * most);
    std::byte* next = scratch_.reserve(bytes);
    const auto take = [&](std::size_t size) { return std::exchange(next, next + size); };
    for (Lane& lane : lanes_) {
        lane.cells = take(lane.width * cells);
        for (Arm& arm : lane.arms) {
            arm.packed = take(lane.width * most);
            for (std::byte*& arrived : arm.arrived) arrived = take(lane.width * most);
        }
    }
}

void Alltoall::collect(const Lane& lane) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(lane.cells + lane.width * std::size_t(place),
                    out_ + out_blocks_.offset(group().node_at(place)) + lane.from, lane.width);
}

void Alltoall::deliver(const Lane& lane) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(in_ + in_blocks_.offset(group().node_at(place)) + lane.from,
                    lane.cells + lane.width * std::size_t(place), lane.width);
}

bool Alltoall::move_lane(Lane& lane) {
    while (!lane.done) {
        if (!step_complete(lane)) return false;
        if (failed()) return false;
        take_step(lane);
        if (next_step(lane)) continue;
        deliver(lane);
        lane.done = true;
    }
    return true;
}

bool Alltoall::step_complete(const Lane& lane) {
    for (std::size_t i = 0; i < lane.receives; ++i)
        if (!received(lane.request + i)) return false;
    for (std::size_t i = 0; i < lane.sends; ++i)
        if (!sent(lane.request + i)) return false;
    return true;
}

void Alltoall::take_step(const Lane& lane) {
    if (lane.phase < 0) return;
    if (form_ == AlltoallForm::lines) return take_line(lane);
    take_arm(lane, +1);
    take_arm(lane, -1);
}

// False: all dimensions are done.
bool Alltoall::next_step(Lane& lane) {
    lane.sends = lane.receives = 0;
    const bool lines = form_ == AlltoallForm::lines;
    if (lane.phase < 0 || lane.step == (lines ? 1 : steps_in(dimension_of(lane)))) {
        if (++lane.phase == group().dimensions()) return false;
        lane.step = 0;
        if (!lines) pack_arms(lane);
    }
    ++lane.step;
    if (lines) {
        post_line(lane);
    } else {
        post_arm(lane, +1);
        post_arm(lane, -1);
    }
    return true;
}

// ---- rings: in step s arrives what began s steps away; all but the nearest slab goes on ----

int Alltoall::coordinate_at(int dimension, int offset) const {
    const int extent = group().extent(dimension);
    const int coordinate = group().coordinate(dimension) + offset;
    if (group().torus().periodic(dimension)) return (coordinate + extent) % extent;
    return coordinate >= 0 && coordinate < extent ? coordinate : -1;
}

int Alltoall::steps_in(int dimension) const {
    const int extent = group().extent(dimension);
    return group().torus().periodic(dimension) ? extent / 2 : extent - 1;
}

// How far the slabs of a member at this coordinate go this way.
int Alltoall::reach(int dimension, int coordinate, int sign) const {
    const int extent = group().extent(dimension);
    if (group().torus().periodic(dimension)) return extent / 2;
    return sign > 0 ? extent - 1 - coordinate : coordinate;
}

// The part of a slab that goes this way from its origin, a coordinate, over that distance: all of
// it, or one half where both ways are equally long.
Alltoall::Cells Alltoall::cells_of(int dimension, int origin, int distance, int sign) const {
    const std::size_t all = slab_size(dimension);
    const int extent = group().extent(dimension);
    if (!group().torus().periodic(dimension) || 2 * distance != extent) return {0, all};
    // The odd cell goes another way from one member to the next.
    int sum = origin;
    for (int d = 0; d < group().dimensions(); ++d)
        if (d != dimension) sum += group().coordinate(d);
    const std::size_t middle = (all + std::size_t(sum % 2)) / 2;
    return sign > 0 ? Cells{0, middle} : Cells{middle, all};
}

// Of all slabs of an origin that go at least so far.
std::size_t Alltoall::cells_beyond(int dimension, int origin, int distance, int sign) const {
    std::size_t cells = 0;
    for (int k = distance; k <= reach(dimension, origin, sign); ++k)
        cells += cells_of(dimension, origin, k, sign).size();
    return cells;
}

void Alltoall::pack_arms(const Lane& lane) {
    const int d = dimension_of(lane);
    const int here = group().coordinate(d);
    for (const int sign : {+1, -1}) {
        std::byte* next = lane.arm(sign).packed;
        for (int k = 1; k <= reach(d, here, sign); ++k)
            next = pack(lane, coordinate_at(d, sign * k), cells_of(d, here, k, sign), next);
    }
}

void Alltoall::post_arm(Lane& lane, int sign) {
    const int d = dimension_of(lane);
    const int s = lane.step;
    const Arm& arm = lane.arm(sign);
    const int stream = int(&lane - lanes_.data()) * 2 + (sign > 0 ? 0 : 1);
    if (const int origin = coordinate_at(d, -sign * s); origin >= 0)
        if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0)
            receive_by(lane.request + lane.receives++, {d, -sign},
                       {arm.arrived[std::size_t(s % 2)], cells * lane.width}, stream);
    if (const int origin = coordinate_at(d, -sign * (s - 1)); origin >= 0)
        if (const std::size_t cells = cells_beyond(d, origin, s, sign); cells > 0) {
            std::byte* from = arm.packed;
            if (s > 1)
                from = arm.arrived[std::size_t((s - 1) % 2)] +
                       cells_of(d, origin, s - 1, sign).size() * lane.width;
            send_by(lane.request + lane.sends++, {d, sign}, {from, cells * lane.width}, stream);
        }
}

void Alltoall::take_arm(const Lane& lane, int sign) {
    const int d = dimension_of(lane);
    const int origin = coordinate_at(d, -sign * lane.step);
    if (origin >= 0 && lane.step <= reach(d, origin, sign))
        unpack(lane, origin, cells_of(d, origin, lane.step, sign),
               lane.arm(sign).arrived[std::size_t(lane.step % 2)]);
}

// ---- lines: each slab by itself to the member of the line that it is for ----

void Alltoall::post_line(Lane& lane) {
    const int d = dimension_of(lane);
    const int extent = group().extent(d);
    const int here = group().coordinate(d);
    const Cells slab{0, slab_size(d)};
    const std::size_t bytes = slab.size() * lane.width;
    std::byte* arrived = lane.arms[0].arrived[0];
    for (int k = 1; k < extent; ++k, arrived += bytes)
        receive(lane.request + lane.receives++, {arrived, bytes},
                group().line_rank(d, (here + extent - k) % extent));
    std::byte* packed = lane.arms[0].packed;
    for (int k = 1; k < extent; ++k) {
        const int c = (here + k) % extent;
        std::byte* const from = std::exchange(packed, pack(lane, c, slab, packed));
        send(lane.request + lane.sends++, {from, bytes}, group().line_rank(d, c));
    }
}

void Alltoall::take_line(const Lane& lane) {
    const int d = dimension_of(lane);
    const int extent = group().extent(d);
    const int here = group().coordinate(d);
    const Cells slab{0, slab_size(d)};
    const std::byte* arrived = lane.arms[0].arrived[0];
    for (int k = 1; k < extent; ++k, arrived += slab.size() * lane.width)
        unpack(lane, (here + extent - k) % extent, slab, arrived);
}

// ---- the cells of a slab, runs of them at a time ----

// Calls use(memory of the run, its bytes).
template <class Use>
void Alltoall::each_run(const Lane& lane, int coordinate, Cells cells, Use&& use) const {
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

// Returns the end of what was packed.
std::byte* Alltoall::pack(const Lane& lane, int coordinate, Cells cells, std::byte* to) const {
    each_run(lane, coordinate, cells, [&](const std::byte* run, std::size_t bytes) {
        std::memcpy(to, run, bytes);
        to += bytes;
    });
    return to;
}

void Alltoall::unpack(const Lane& lane, int coordinate, Cells cells, const std::byte* from) const {
    each_run(lane, coordinate, cells, [&](std::byte* run, std::size_t bytes) {
        std::memcpy(run, from, bytes);
        from += bytes;
    });
}

}  // namespace torusmp::collectives
