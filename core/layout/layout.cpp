// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/layout.h"

#include <algorithm>
#include <utility>

namespace torusmp::core {
namespace {

using Nest = Shape::Nest;
using Part = Shape::Part;

// A walk calls action.block(offset, bytes) and action.strided(offset, count, stride, bytes) for the
// parts of a stretch of the message, in order, until one of them returns false. For an action that
// takes blocks in any order it also calls field(), for the blocks of one field of many records.

template <class Action>
bool whole_nest(const Nest& nest, std::ptrdiff_t at, Action& action);

template <class Action>
bool whole_body(const Nest& nest, std::ptrdiff_t at, Action& action) {
    if (nest.sequence == nullptr) return action.block(at, nest.body);
    const std::vector<Part>& parts = nest.sequence->parts;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const Part& part = parts[i];
        const bool go_on = part.nest == nullptr
                               ? action.block(at + part.offset, parts[i + 1].start - part.start)
                               : whole_nest(*part.nest, at + part.offset, action);
        if (!go_on) return false;
    }
    return true;
}

// Records: iterations of a loop around several blocks. They are copied block by block, a few
// iterations at a time, so that the data stays in the cache while each block's size is looked up
// once.
template <class Action>
void records(const Nest& nest, std::size_t turns, std::ptrdiff_t at, std::ptrdiff_t stride,
             Action& action) {
    constexpr std::size_t together = 64;
    const std::vector<Part>& parts = nest.sequence->parts;
    while (turns != 0) {
        const std::size_t now = std::min(turns, together);
        for (std::size_t i = 0; i + 1 < parts.size(); ++i)
            action.field(at + parts[i].offset, now, stride, parts[i + 1].start - parts[i].start,
                         parts[i].start, nest.body);
        action.skip(now * nest.body);
        at += std::ptrdiff_t(now) * stride;
        turns -= now;
    }
}

// `turns` iterations of the loop at this level, with everything inside them.
template <class Action>
bool whole_turns(const Nest& nest, int level, std::size_t turns, std::ptrdiff_t at,
                 Action& action) {
    const std::ptrdiff_t stride = nest.loops[std::size_t(level)].stride;
    const bool innermost = level + 1 == nest.depth;
    if (innermost && nest.sequence == nullptr) return action.strided(at, turns, stride, nest.body);
    if constexpr (Action::in_any_order) {
        if (innermost && nest.sequence->only_blocks()) {
            records(nest, turns, at, stride, action);
            return true;
        }
    }
    for (std::size_t i = 0; i < turns; ++i, at += stride) {
        const bool go_on = innermost
                               ? whole_body(nest, at, action)
                               : whole_turns(nest, level + 1,
                                             nest.loops[std::size_t(level) + 1].count, at, action);
        if (!go_on) return false;
    }
    return true;
}

template <class Action>
bool whole_nest(const Nest& nest, std::ptrdiff_t at, Action& action) {
    return nest.depth == 0 ? whole_body(nest, at, action)
                           : whole_turns(nest, 0, nest.loops[0].count, at, action);
}

template <class Action>
bool walk(const Nest& nest, int level, std::ptrdiff_t at, std::size_t skip, std::size_t bytes,
          Action& action);

// Bytes [skip, skip + bytes) of one iteration of the innermost loop.
template <class Action>
bool walk_body(const Nest& nest, std::ptrdiff_t at, std::size_t skip, std::size_t bytes,
               Action& action) {
    if (nest.sequence == nullptr) return action.block(at + std::ptrdiff_t(skip), bytes);
    const std::vector<Part>& parts = nest.sequence->parts;
    const auto behind =
        std::upper_bound(parts.begin(), parts.end(), skip,
                         [](std::size_t byte, const Part& part) { return byte < part.start; });
    skip -= (behind - 1)->start;
    for (auto part = behind - 1; bytes != 0; ++part, skip = 0) {
        const std::size_t size = (part + 1)->start - part->start;
        const std::size_t piece = std::min(size - skip, bytes);
        const std::ptrdiff_t place = at + part->offset;
        const bool go_on = part->nest == nullptr ? action.block(place + std::ptrdiff_t(skip), piece)
                           : piece == size       ? whole_nest(*part->nest, place, action)
                                                 : walk(*part->nest, 0, place, skip, piece, action);
        if (!go_on) return false;
        bytes -= piece;
    }
    return true;
}

// Bytes [skip, skip + bytes) of the loop at this level, which begins at `at`: the rest of one
// iteration, whole iterations, and the beginning of another.
template <class Action>
bool walk(const Nest& nest, int level, std::ptrdiff_t at, std::size_t skip, std::size_t bytes,
          Action& action) {
    if (level == nest.depth) return walk_body(nest, at, skip, bytes, action);
    const Shape::Loop& loop = nest.loops[std::size_t(level)];
    if (skip >= loop.bytes) {
        at += std::ptrdiff_t(skip / loop.bytes) * loop.stride;
        skip %= loop.bytes;
    }
    if (skip != 0) {
        const std::size_t rest = std::min(loop.bytes - skip, bytes);
        if (!walk(nest, level + 1, at, skip, rest, action)) return false;
        bytes -= rest;
        at += loop.stride;
    }
    if (bytes >= loop.bytes) {
        const std::size_t turns = bytes / loop.bytes;
        if (!whole_turns(nest, level, turns, at, action)) return false;
        at += std::ptrdiff_t(turns) * loop.stride;
        bytes -= turns * loop.bytes;
    }
    return bytes == 0 || walk(nest, level + 1, at, 0, bytes, action);
}

// Small blocks of a size known to the compiler take a few instructions instead of a call.
template <class Known>
inline bool with_known_size(std::size_t bytes, Known&& known) {
    switch (bytes) {
        case 1:
            known.template operator()<1>();
            return true;
        case 2:
            known.template operator()<2>();
            return true;
        case 4:
            known.template operator()<4>();
            return true;
        case 8:
            known.template operator()<8>();
            return true;
        case 12:
            known.template operator()<12>();
            return true;
        case 16:
            known.template operator()<16>();
            return true;
        case 24:
            known.template operator()<24>();
            return true;
        case 32:
            known.template operator()<32>();
            return true;
        case 48:
            known.template operator()<48>();
            return true;
        default:
            return false;
    }
}

inline void copy_block(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (!with_known_size(bytes, [&]<std::size_t size>() { std::memcpy(to, from, size); }))
        std::memcpy(to, from, bytes);
}

// Copies `count` blocks; each side advances by its own stride.
inline void copy_strided(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                         std::ptrdiff_t from_stride, std::size_t count, std::size_t bytes) {
    const auto each = [&](auto&& copy_one) {
        for (std::size_t i = 0; i < count; ++i)
            copy_one(displaced(to, std::ptrdiff_t(i) * to_stride),
                     displaced(from, std::ptrdiff_t(i) * from_stride));
    };
    if (!with_known_size(bytes, [&]<std::size_t size>() {
            each([](std::byte* out, const std::byte* in) { std::memcpy(out, in, size); });
        }))
        each([bytes](std::byte* out, const std::byte* in) { std::memcpy(out, in, bytes); });
}

struct Pack {
    static constexpr bool in_any_order = true;
    const std::byte* base;
    std::byte* out;

    bool block(std::ptrdiff_t at, std::size_t bytes) {
        copy_block(out, displaced(base, at), bytes);
        out += bytes;
        return true;
    }
    bool strided(std::ptrdiff_t at, std::size_t count, std::ptrdiff_t stride, std::size_t bytes) {
        copy_strided(out, std::ptrdiff_t(bytes), displaced(base, at), stride, count, bytes);
        out += count * bytes;
        return true;
    }
    // One block of each of `count` records, `start` bytes into the packed record.
    void field(std::ptrdiff_t at, std::size_t count, std::ptrdiff_t stride, std::size_t bytes,
               std::size_t start, std::size_t record) {
        copy_strided(out + start, std::ptrdiff_t(record), displaced(base, at), stride, count,
                     bytes);
    }
    void skip(std::size_t bytes) { out += bytes; }
};

struct Unpack {
    static constexpr bool in_any_order = true;
    std::byte* base;
    const std::byte* in;

    bool block(std::ptrdiff_t at, std::size_t bytes) {
        copy_block(displaced(base, at), in, bytes);
        in += bytes;
        return true;
    }
    bool strided(std::ptrdiff_t at, std::size_t count, std::ptrdiff_t stride, std::size_t bytes) {
        copy_strided(displaced(base, at), stride, in, std::ptrdiff_t(bytes), count, bytes);
        in += count * bytes;
        return true;
    }
    void field(std::ptrdiff_t at, std::size_t count, std::ptrdiff_t stride, std::size_t bytes,
               std::size_t start, std::size_t record) {
        copy_strided(displaced(base, at), stride, in + start, std::ptrdiff_t(record), count, bytes);
    }
    void skip(std::size_t bytes) { in += bytes; }
};

struct Collect {
    static constexpr bool in_any_order = false;
    std::span<Layout::Piece> out;
    Layout::Pieces found{0, 0};

    bool block(std::ptrdiff_t at, std::size_t bytes) {
        if (found.count != 0) {
            Layout::Piece& last = out[found.count - 1];
            if (last.offset + std::ptrdiff_t(last.bytes) == at) {
                last.bytes += bytes;
                found.bytes += bytes;
                return true;
            }
        }
        if (found.count == out.size()) return false;
        out[found.count++] = {at, bytes};
        found.bytes += bytes;
        return true;
    }
    bool strided(std::ptrdiff_t at, std::size_t count, std::ptrdiff_t stride, std::size_t bytes) {
        for (std::size_t i = 0; i < count; ++i, at += stride)
            if (!block(at, bytes)) return false;
        return true;
    }
};

Shape shape_of(const std::vector<Layout::Run>& runs) {
    std::vector<Shape::Placed> parts;
    parts.reserve(runs.size());
    for (const Layout::Run& run : runs)
        parts.push_back({run.offset, Shape::block(run.bytes).repeated(run.count, run.stride)});
    return Shape::sequence(parts);
}

}  // namespace

Layout::Layout(const std::vector<Run>& runs) : Layout(shape_of(runs)) {}

Layout::Layout(Shape element, std::ptrdiff_t extent)
    : element_(std::move(element)),
      elements_(element_.endless(extent)),
      extent_(extent),
      size_(element_.size()),
      mean_block_(element_.empty() ? 0 : size_ / element_.blocks()),
      contiguous_(element_.is_block()),
      dense_(contiguous_ && std::ptrdiff_t(size_) == extent) {}

void Layout::pack(const std::byte* base, std::size_t from, std::byte* out,
                  std::size_t bytes) const {
    if (bytes == 0) return;
    Pack action{base, out};
    walk(*elements_.nest(), 0, elements_.offset(), from, bytes, action);
}

void Layout::unpack(std::byte* base, std::size_t from, const std::byte* in,
                    std::size_t bytes) const {
    if (bytes == 0) return;
    Unpack action{base, in};
    walk(*elements_.nest(), 0, elements_.offset(), from, bytes, action);
}

Layout::Pieces Layout::pieces(std::size_t from, std::size_t bytes, std::span<Piece> out) const {
    Collect action{out};
    if (bytes != 0) walk(*elements_.nest(), 0, elements_.offset(), from, bytes, action);
    return action.found;
}

}  // namespace torusmp::core
