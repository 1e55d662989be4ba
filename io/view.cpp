// SPDX-License-Identifier: BSD-3-Clause
#include "io/view.h"

#include <cstring>
#include <utility>

namespace torusmp::io {
namespace {

using core::Shape;

// The bytes that a nest covers, and their order.
struct Reach {
    std::ptrdiff_t begin = 0, end = 0;
    std::ptrdiff_t last = 0;  // where the last block begins
    bool rising = true;       // each block begins behind the one before
    bool ordered = true;      // or at least not before it begins
};

Reach reach_of(const Shape::Nest& nest);

Reach reach_of_body(const Shape::Nest& nest) {
    if (nest.sequence == nullptr) return {.end = std::ptrdiff_t(nest.body)};
    Reach all;
    const auto& parts = nest.sequence->parts;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        Reach part = parts[i].nest != nullptr
                         ? reach_of(*parts[i].nest)
                         : Reach{.end = std::ptrdiff_t(parts[i + 1].start - parts[i].start)};
        part.begin += parts[i].offset;
        part.end += parts[i].offset;
        part.last += parts[i].offset;
        if (i == 0) {
            all = part;
            continue;
        }
        all.rising = all.rising && part.rising && part.begin >= all.end;
        all.ordered = all.ordered && part.ordered && part.begin >= all.last;
        all.begin = std::min(all.begin, part.begin);
        all.end = std::max(all.end, part.end);
        all.last = part.last;
    }
    return all;
}

Reach reach_of(const Shape::Nest& nest) {
    Reach reach = reach_of_body(nest);
    for (int level = nest.depth; level-- > 0;) {
        const Shape::Loop& loop = nest.loops[std::size_t(level)];
        if (loop.count < 2) continue;
        reach.rising = reach.rising && loop.stride >= reach.end - reach.begin;
        reach.ordered = reach.ordered && loop.stride >= reach.last - reach.begin;
        const std::ptrdiff_t last = std::ptrdiff_t(loop.count - 1) * loop.stride;
        reach.begin += std::min<std::ptrdiff_t>(last, 0);
        reach.end += std::max<std::ptrdiff_t>(last, 0);
        reach.last += last;
    }
    return reach;
}

Reach reach_of(const core::Layout& tile) {
    const Shape& shape = tile.element();
    if (shape.empty()) return {};
    Reach reach = reach_of(*shape.nest());
    reach.begin += shape.offset();
    reach.end += shape.offset();
    reach.last += shape.offset();
    return reach;
}

Offset place(const core::Layout& tile, Offset position) {
    core::Layout::Piece piece{};
    tile.pieces(std::size_t(position), 1, {&piece, 1});
    return piece.offset;
}

}  // namespace

bool View::can_be(const core::Layout& tile, bool overlapping) {
    const Reach reach = reach_of(tile);
    return reach.begin >= 0 && (overlapping ? reach.ordered : reach.rising);
}

View::View(Offset displacement, std::shared_ptr<const core::Layout> tile, bool overlapping)
    : displacement_(displacement), tile_(std::move(tile)) {
    if (tile_->size() == 0) return;
    const Reach reach = reach_of(*tile_);
    const bool apart = tile_->extent() >= reach.end - reach.begin;
    const bool repeats = apart || (overlapping && tile_->extent() > 0 &&
                                   tile_->extent() >= reach.last - reach.begin);
    overlaps_ = !reach.rising || (repeats && !apart);
    if (!repeats) {
        end_ = Offset(tile_->size());
        tile_ = std::make_shared<const core::Layout>(tile_->element(), reach.end - reach.begin);
    }
    first_ = place(*tile_, 0);
    if (tile_->dense()) {
        displacement_ += first_;
        tile_.reset();
    }
}

Offset View::offset_of(Offset position) const {
    return displacement_ + (dense() ? position : place(*tile_, position));
}

Offset View::position_of(Offset offset) const {
    Offset inside = offset - displacement_;
    if (dense()) return std::max<Offset>(inside, 0);
    if (empty() || inside <= first_) return 0;
    const Offset tiles = (inside - first_) / tile_->extent();
    inside -= tiles * tile_->extent();
    // The first byte of a tile that does not lie before the offset.
    Offset low = 0, high = Offset(tile_->size());
    while (low < high) {
        const Offset middle = low + (high - low) / 2;
        if (place(*tile_, middle) < inside)
            low = middle + 1;
        else
            high = middle;
    }
    return tiles * Offset(tile_->size()) + low;
}

void View::gather(const std::byte* piece, Offset offset, Offset position, std::byte* stream,
                  std::size_t bytes) const {
    if (bytes == 0) return;
    if (dense())
        std::memcpy(stream, piece + (displacement_ + position - offset), bytes);
    else
        tile_->pack(core::displaced(piece, displacement_ - offset), std::size_t(position), stream,
                    bytes);
}

}  // namespace torusmp::io
