// SPDX-License-Identifier: BSD-3-Clause
// Array sections of Fortran as buffers: a call treats a section as if its elements lay without gaps
// (MPI-5.0, section 19.1.12), in array element order.
//
// A section has a range of addresses that stands for that memory: no memory is there, and a buffer
// is only ever computed from them (Datatype::Datatype(element, sections), buffer_of()). So all
// calls take sections, whatever they do with counts, displacements and extents, and copy directly
// from and to the array. Values; any thread may read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout/shape.h"

namespace torusmp::mpi {

class Section {
  public:
    static constexpr int most_dimensions = 15;
    struct Dimension {
        std::size_t extent;
        std::ptrdiff_t stride;  // bytes
    };
    // `place` is different for the sections of one call.
    Section(void* base, std::size_t element_bytes, int place);
    void add(Dimension dimension);

    // The address that stands for the first byte.
    void* address() const;
    // Whether `address` stands for a byte of this section, or for one near it.
    bool holds(const void* address) const;

    std::byte* base() const { return base_; }
    std::size_t bytes() const { return sizes_[std::size_t(rank_)]; }
    // The memory of bytes [from, from + bytes), as offsets from base(). Throws Failure if the
    // section has fewer.
    core::Shape part(std::ptrdiff_t from, std::size_t bytes) const;
    core::Shape whole() const { return wholes_[std::size_t(rank_)]; }

  private:
    core::Shape part_of(int rank, std::size_t from, std::size_t bytes) const;

    std::byte* base_;
    int place_;
    int rank_ = 0;
    std::array<std::ptrdiff_t, most_dimensions> strides_{};
    // The element n describes the first n dimensions.
    std::array<std::size_t, most_dimensions + 1> sizes_{};
    std::array<core::Shape, most_dimensions + 1> wholes_;
};

}  // namespace torusmp::mpi
