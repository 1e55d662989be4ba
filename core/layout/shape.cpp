// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/shape.h"

#include <algorithm>
#include <utility>

namespace torusmp::core {
namespace {

using Nest = Shape::Nest;
using NestPointer = std::shared_ptr<const Nest>;

// Shorter runs of equal parts are not made loops, which would be no smaller.
constexpr std::size_t shortest_loop = 4;

// A part of a sequence while it is built.
struct Draft {
    std::ptrdiff_t offset;
    std::size_t bytes;
    NestPointer nest;  // null for a block
};

bool same_nest(const NestPointer& a, const NestPointer& b) {
    if (a == b) return true;
    if (a == nullptr || b == nullptr) return false;
    if (a->sequence != b->sequence || a->body != b->body || a->depth != b->depth) return false;
    return std::equal(a->loops.begin(), a->loops.begin() + a->depth, b->loops.begin(),
                      [](const Shape::Loop& left, const Shape::Loop& right) {
                          return left.count == right.count && left.stride == right.stride;
                      });
}

bool same(const Draft& a, const Draft& b) {
    return a.bytes == b.bytes && same_nest(a.nest, b.nest);
}

// The number of parts from `first` on that are equal and equally far apart.
std::size_t regular_run(std::span<const Draft> drafts, std::size_t first) {
    std::size_t end = first + 1;
    if (end == drafts.size() || !same(drafts[first], drafts[end])) return 1;
    const std::ptrdiff_t stride = drafts[end].offset - drafts[first].offset;
    while (end < drafts.size() && same(drafts[first], drafts[end]) &&
           drafts[end].offset - drafts[end - 1].offset == stride)
        ++end;
    return end - first;
}

}  // namespace

std::size_t Shape::size() const {
    return empty() ? 0 : nest_->size();
}

std::size_t Shape::blocks() const {
    return empty() ? 0 : nest_->blocks;
}

Shape Shape::block(std::size_t bytes, std::ptrdiff_t offset) {
    if (bytes == 0) return {};
    auto nest = std::make_shared<Nest>();
    nest->body = bytes;
    return {offset, std::move(nest)};
}

Shape Shape::moved(std::ptrdiff_t by) const {
    return empty() ? Shape() : Shape(offset_ + by, nest_);
}

Shape Shape::repeated(std::size_t count, std::ptrdiff_t stride) const {
    if (empty() || count == 0) return {};
    if (count == 1) return *this;
    const Nest& inner = *nest_;
    if (inner.is_block() && stride == std::ptrdiff_t(inner.body))
        return block(count * inner.body, offset_);
    if (inner.depth > 0 && stride == inner.loops[0].stride * std::ptrdiff_t(inner.loops[0].count)) {
        auto longer = std::make_shared<Nest>(inner);
        longer->loops[0].count *= count;
        longer->blocks *= count;
        return {offset_, std::move(longer)};
    }
    return nest(nest_, {count, stride, size()}).moved(offset_);
}

Shape Shape::endless(std::ptrdiff_t stride) const {
    if (empty()) return {};
    return nest(nest_, {1, stride, size()}).moved(offset_);
}

// Adds a loop around a nest: in the same nest if that has room.
Shape Shape::nest(const NestPointer& inner, const Loop& loop) {
    auto outer = std::make_shared<Nest>();
    if (inner->depth < deepest) {
        *outer = *inner;
        std::move_backward(outer->loops.begin(), outer->loops.begin() + outer->depth,
                           outer->loops.begin() + outer->depth + 1);
        ++outer->depth;
    } else {
        auto only = std::make_shared<Sequence>();
        only->parts = {{0, 0, inner.get()}, {0, inner->size(), nullptr}};
        only->nests = {inner};
        outer->depth = 1;
        outer->body = inner->size();
        outer->sequence = std::move(only);
    }
    outer->loops[0] = loop;
    outer->blocks = inner->blocks * loop.count;
    return {0, std::move(outer)};
}

Shape Shape::sequence(std::span<const Placed> parts) {
    std::vector<Draft> drafts;
    drafts.reserve(parts.size());
    for (const Placed& part : parts) {
        if (part.shape.empty()) continue;
        const Nest& nest = *part.shape.nest_;
        const std::ptrdiff_t offset = part.offset + part.shape.offset_;
        if (!nest.is_block())
            drafts.push_back({offset, nest.size(), part.shape.nest_});
        else if (!drafts.empty() && drafts.back().nest == nullptr &&
                 drafts.back().offset + std::ptrdiff_t(drafts.back().bytes) == offset)
            drafts.back().bytes += nest.body;
        else
            drafts.push_back({offset, nest.body, nullptr});
    }
    auto sequence = std::make_shared<Sequence>();
    std::size_t start = 0, blocks = 0;
    for (std::size_t i = 0; i < drafts.size();) {
        const Draft& draft = drafts[i];
        const std::size_t run = regular_run(drafts, i);
        const bool all = run == drafts.size();
        if (draft.nest == nullptr && run < shortest_loop && !all) {
            sequence->parts.push_back({draft.offset, start, nullptr});
            start += draft.bytes;
            ++blocks;
            ++i;
            continue;
        }
        const bool loop = all || run >= shortest_loop;
        Shape piece = draft.nest == nullptr ? block(draft.bytes, draft.offset)
                                            : Shape(draft.offset, draft.nest);
        if (loop && run > 1) piece = piece.repeated(run, drafts[i + 1].offset - draft.offset);
        if (all) return piece;
        sequence->parts.push_back({piece.offset_, start, piece.nest_.get()});
        if (sequence->nests.empty() || sequence->nests.back() != piece.nest_)
            sequence->nests.push_back(piece.nest_);
        start += piece.size();
        blocks += piece.blocks();
        i += loop ? run : 1;
    }
    if (sequence->parts.empty()) return {};
    sequence->parts.push_back({0, start, nullptr});
    auto nest = std::make_shared<Nest>();
    nest->body = start;
    nest->blocks = blocks;
    nest->sequence = std::move(sequence);
    return {0, std::move(nest)};
}

}  // namespace torusmp::core
