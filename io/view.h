// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of a file a rank sees, in which order: a displacement, then a layout repeated without
// end (MPI-5.0, section 14.3).
//
// What a rank reads and writes is a stream of data; a *position* counts its bytes, an *offset*
// those of the file. Offsets rise with positions, unless the view overlaps(), which only reads may.
// A layout that is longer than its extent, such as a chunk of HDF5, is not repeated: data end().
// A View is a value, cheap to copy; any thread may read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>

#include "core/layout/layout.h"
#include "io/store.h"

namespace torusmp::io {

class View {
  public:
    // All bytes from the displacement on.
    View() : View(0) {}
    explicit View(Offset displacement) : displacement_(displacement) {}
    // Precondition: can_be(tile, overlapping).
    View(Offset displacement, std::shared_ptr<const core::Layout> tile, bool overlapping = false);
    // Whether a view can be made of it. overlapping: its blocks, and one tile and the next, may
    // overlap, but not go backwards.
    static bool can_be(const core::Layout& tile, bool overlapping = false);

    Offset displacement() const { return displacement_; }
    // The data are one stretch of the file.
    bool dense() const { return tile_ == nullptr; }
    // There are no data.
    bool empty() const { return tile_ != nullptr && tile_->size() == 0; }
    // Some bytes are seen more than once. Then position_of() only bounds the answer.
    bool overlaps() const { return overlaps_; }
    // Positions lie before it.
    Offset end() const { return end_; }
    // Mean length of the stretches of the file that hold data; 0 if unlimited.
    std::size_t mean_block() const { return dense() ? 0 : tile_->mean_block(); }

    // Where the byte at a position lies. Precondition: not empty().
    Offset offset_of(Offset position) const;
    // How many bytes of data lie before an offset.
    Offset position_of(Offset offset) const;

    // Calls visit(offset, bytes) for the stretches of the file that hold `bytes` bytes of data from
    // a position on; visit returns false to stop. Adjacent stretches are merged, but for those at
    // the border of two groups.
    template <class Visit>
    void for_each(Offset position, std::size_t bytes, Visit&& visit) const;

    // Copies data between a piece of the file in memory, which begins at `offset`, and the stream.
    void gather(const std::byte* piece, Offset offset, Offset position, std::byte* stream,
                std::size_t bytes) const;

  private:
    Offset displacement_;
    Offset end_ = std::numeric_limits<Offset>::max();
    bool overlaps_ = false;
    Offset first_ = 0;                          // offset of the first byte of the tile in it
    std::shared_ptr<const core::Layout> tile_;  // null if dense
};

template <class Visit>
void View::for_each(Offset position, std::size_t bytes, Visit&& visit) const {
    if (dense()) {
        if (bytes != 0) visit(displacement_ + position, bytes);
        return;
    }
    std::array<core::Layout::Piece, 256> group;
    while (bytes != 0) {
        const auto found = tile_->pieces(std::size_t(position), bytes, group);
        for (std::size_t i = 0; i < found.count; ++i)
            if (!visit(displacement_ + group[i].offset, group[i].bytes)) return;
        position += Offset(found.bytes);
        bytes -= found.bytes;
    }
}

}  // namespace torusmp::io
