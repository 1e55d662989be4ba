// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/alltoall/stripes.h"

#include <algorithm>
#include <cstring>

namespace torusmp::collectives::alltoall {

void Stripes::lay_stripes(std::size_t count, std::size_t requests, std::size_t room) {
    const std::size_t block = block_bytes();
    stripes_.assign(block == 0 ? 0 : count, Stripe{});
    const auto cells = std::size_t(group().size());
    std::byte* next = scratch_.reserve(block * (cells + room));
    for (std::size_t i = 0; i < stripes_.size(); ++i) {
        Stripe& stripe = stripes_[i];
        // Parts begin on multiples of the strictest alignment, so that copies are aligned.
        const auto cut = [&](std::size_t part) {
            return part == count ? block : block * part / count / 16 * 16;
        };
        stripe.index = int(i);
        stripe.from = cut(i);
        stripe.width = cut(i + 1) - cut(i);
        stripe.cells = next;
        stripe.slabs = next + stripe.width * cells;
        next += stripe.width * (cells + room);
        stripe.request = i * requests;
        collect(stripe);
    }
    use_requests(requests * stripes_.size(), requests * stripes_.size());
}

void Stripes::collect(const Stripe& stripe) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(stripe.cells + stripe.width * std::size_t(place),
                    call_.out + call_.out_blocks.offset(group().member_at(place)) + stripe.from,
                    stripe.width);
}

void Stripes::deliver(const Stripe& stripe) {
    for (int place = 0; place < group().size(); ++place)
        std::memcpy(call_.in + call_.in_blocks.offset(group().member_at(place)) + stripe.from,
                    stripe.cells + stripe.width * std::size_t(place), stripe.width);
}

bool Stripes::move() {
    bool done = true;
    for (Stripe& stripe : stripes_) done = move_stripe(stripe) && done;
    return done;
}

bool Stripes::move_stripe(Stripe& stripe) {
    while (!stripe.done) {
        if (!step_complete(stripe)) return false;
        if (failed()) return false;
        if (stripe.phase >= 0) take_step(stripe);
        if (next_step(stripe)) continue;
        deliver(stripe);
        stripe.done = true;
    }
    return true;
}

bool Stripes::step_complete(const Stripe& stripe) {
    for (std::size_t i = 0; i < stripe.receives; ++i)
        if (!received(stripe.request + i)) return false;
    for (std::size_t i = 0; i < stripe.sends; ++i)
        if (!sent(stripe.request + i)) return false;
    return true;
}

// Returns false if all dimensions are done.
bool Stripes::next_step(Stripe& stripe) {
    stripe.sends = stripe.receives = 0;
    if (stripe.phase < 0 || stripe.step == steps_in(dimension_of(stripe))) {
        if (++stripe.phase == group().dimensions()) return false;
        stripe.step = 0;
        enter_dimension(stripe);
    }
    ++stripe.step;
    post_step(stripe);
    return true;
}

// Iterates over the cells of a slab in runs. Calls use(memory of the run, its bytes).
template <class Use>
void Stripes::each_run(const Stripe& stripe, int coordinate, Cells cells, Use&& use) const {
    const int d = dimension_of(stripe);
    const auto stride = std::size_t(group().stride(d));
    const std::size_t outer = stride * std::size_t(group().extent(d));
    for (std::size_t i = cells.from; i < cells.to;) {
        const std::size_t inner = i % stride;
        const std::size_t run = std::min(stride - inner, cells.to - i);
        const std::size_t cell = i / stride * outer + std::size_t(coordinate) * stride + inner;
        use(stripe.cells + cell * stripe.width, run * stripe.width);
        i += run;
    }
}

std::byte* Stripes::pack(const Stripe& stripe, int coordinate, Cells cells, std::byte* to) const {
    each_run(stripe, coordinate, cells, [&](const std::byte* run, std::size_t bytes) {
        std::memcpy(to, run, bytes);
        to += bytes;
    });
    return to;
}

void Stripes::unpack(const Stripe& stripe, int coordinate, Cells cells,
                     const std::byte* from) const {
    each_run(stripe, coordinate, cells, [&](std::byte* run, std::size_t bytes) {
        std::memcpy(run, from, bytes);
        from += bytes;
    });
}

}  // namespace torusmp::collectives::alltoall
