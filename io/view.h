// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file that a rank sees, and their order: a displacement, then a layout that repeats
// without end (MPI-5.0, section 14.3).
//
// A rank reads and writes a stream of data. A *position* counts the bytes of the stream, an
// *offset* the bytes of the file. Offsets increase with positions, unless the view overlaps(); such
// a view is only for reads. A layout that is longer than its extent, such as a chunk of HDF5, is
// not repeated, so the stream has an end(). A View is a value and cheap to copy; any thread may
// read it.
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
    // The view of all bytes from the displacement on.
    View() : View(0) {}
    explicit View(Offset displacement) : displacement_(displacement) {}
    // Precondition: can_be(tile, overlapping).
    View(Offset displacement, std::shared_ptr<const core::Layout> tile, bool overlapping = false);
    // Whether the layout can be the tile of a view. If `overlapping`, its blocks may overlap each
    // other and the next tile, but offsets must not decrease.
    static bool can_be(const core::Layout& tile, bool overlapping = false);

    Offset displacement() const { return displacement_; }
    // Whether the data are one stretch of the file.
    bool dense() const { return tile_ == nullptr; }
    // Whether there are no data.
    bool empty() const { return tile_ != nullptr && tile_->size() == 0; }
    // Whether some bytes are seen more than once. Then position_of() is only a bound.
    bool overlaps() const { return overlaps_; }
    // All positions are below this one.
    Offset end() const { return end_; }
    // Mean length of the stretches of the file that hold data; 0 if unlimited.
    std::size_t mean_block() const { return dense() ? 0 : tile_->mean_block(); }

    // The offset of the byte at a position. Precondition: not empty().
    Offset offset_of(Offset position) const;
    // The number of bytes of data before an offset.
    Offset position_of(Offset offset) const;

    // Calls visit(offset, bytes) for the stretches of the file that hold `bytes` bytes of data from
    // a position on; visit returns false to stop. Most adjacent stretches are merged.
    template <class Visit>
    void for_each(Offset position, std::size_t bytes, Visit&& visit) const;

    // Copies data from a piece of the file in memory, which begins at `offset`, to the stream.
    void gather(const std::byte* piece, Offset offset, Offset position, std::byte* stream,
                std::size_t bytes) const;

  private:
    Offset displacement_;
    Offset end_ = std::numeric_limits<Offset>::max();
    bool overlaps_ = false;
    Offset first_ = 0;                          // offset of the first byte of data in the tile
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
