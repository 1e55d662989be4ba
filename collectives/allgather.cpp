#include "collectives/allgather.h"

#include <cstring>

namespace torusmp::collectives {
void Allgather::start(void* in, const Blocks& in_blocks, const void* out, GatherAllForm form) {
    use_blocks(static_cast<std::byte*>(in), in_blocks);
    const int node = group().node();
    if (out != nullptr && in_blocks.size(node) > 0)
        std::memmove(block(node), out, in_blocks.size(node));
    const std::size_t bytes = bytes_of({0, group().size()});
    form_ = form != GatherAllForm::automatic
                ? form
                : GatherAllForm(group().form(config::Collective::allgather, bytes));
    step_ = 0;
    begin("allgather", {-1, bytes});
}

bool Allgather::step() {
    put_away();
    switch (form_) {
        case GatherAllForm::rings:
            return step_rings();
        case GatherAllForm::everyone:
            return step_everyone();
        case GatherAllForm::star:
            return step_star();
        default:
            return step_lines();
    }
}

bool Allgather::step_rings() {
    const Bundles& bundles = group().bundles();
    if (++step_ > bundles.steps()) return false;
    std::size_t bytes = 0;
    for (const auto direction : bundles.directions())
        bytes += bytes_of(bundles.in(step_, direction)) + bytes_of(bundles.out(step_, direction));
    begin_batch(bytes);
    // In a ring of two what is sent by + comes from -: the order of both ends is that of sending.
    for (const auto direction : bundles.directions())
        receive_blocks(bundles.in(step_, direction.opposite()), by(direction.opposite()));
    for (const auto direction : bundles.directions())
        send_blocks(bundles.out(step_, direction), by(direction));
    return true;
}

// The last dimension first: what a member has is then a range of places.
bool Allgather::step_lines() {
    const int d = group().dimensions() - ++step_;
    if (d < 0) return false;
    const int here = group().coordinate(d);
    const int extent = group().extent(d);
    const int have = group().stride(d);
    const int first = group().place() / have * have;
    const auto slab = [&](int c) { return Places(first + (c - here) * have, have); };

    std::size_t bytes = 0;
    for (int c = 0; c < extent; ++c) bytes += bytes_of(slab(c));
    begin_batch(bytes);
    for (int k = 1; k < extent; ++k) {
        const int c = (here + extent - k) % extent;
        receive_blocks(slab(c), {group().line_rank(d, c)});
    }
    const Load own = load(slab(here));
    for (int k = 1; k < extent; ++k) send_load(own, {group().line_rank(d, (here + k) % extent)});
    return true;
}

bool Allgather::step_everyone() {
    if (step_++ > 0) return false;
    const int size = group().size();
    const int place = group().place();
    begin_batch(0);  // a single block is never packed
    for (int k = 1; k < size; ++k) {
        const int from = (place + size - k) % size;
        receive_blocks({from, 1}, to_place(from));
    }
    const Load own = load({place, 1});
    for (int k = 1; k < size; ++k) send_load(own, to_place((place + k) % size));
    return true;
}

bool Allgather::step_star() {
    const int size = group().size();
    const Places all(0, size);
    const int place = group().place();
    ++step_;
    if (place != 0) {
        if (step_ > 1) return false;
        // All blocks come only after ours was taken, so they may come over it.
        begin_batch(bytes_of(all));
        receive_blocks(all, to_place(0));
        send_blocks({place, 1}, to_place(0));
        return true;
    }
    if (step_ > 2) return false;
    if (step_ == 1) {
        begin_batch(0);
        for (int p = 1; p < size; ++p) receive_blocks({p, 1}, to_place(p));
    } else {
        begin_batch(bytes_of(all));
        const Load everything = load(all);
        for (int p = 1; p < size; ++p) send_load(everything, to_place(p));
    }
    return true;
}

}  // namespace torusmp::collectives
