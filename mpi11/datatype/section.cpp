// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/datatype/section.h"

#include <algorithm>

#include "core/layout/layout.h"
#include "mpi11/error/error.h"

namespace torusmp::mpi {
namespace {

// Addresses that no process has. Each section has a part of them, and starts in its middle:
// displacements may be negative.
constexpr std::uintptr_t first_address = std::uintptr_t{1} << 62;
constexpr std::uintptr_t addresses_each = std::uintptr_t{1} << 57;

}  // namespace

Section::Section(void* base, std::size_t element_bytes, int place)
    : base_(static_cast<std::byte*>(base)), place_(place) {
    sizes_[0] = element_bytes;
    wholes_[0] = core::Shape::block(element_bytes);
}

void Section::add(Dimension dimension) {
    const auto rank = std::size_t(rank_++);
    strides_[rank] = dimension.stride;
    sizes_[rank + 1] = sizes_[rank] * dimension.extent;
    wholes_[rank + 1] = wholes_[rank].repeated(dimension.extent, dimension.stride);
}

void* Section::address() const {
    return reinterpret_cast<void*>(first_address + std::uintptr_t(place_) * addresses_each +
                                   addresses_each / 2);
}

bool Section::holds(const void* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return value >= first_address &&
           (value - first_address) / addresses_each == std::uintptr_t(place_);
}

core::Shape Section::part(std::ptrdiff_t from, std::size_t bytes) const {
    const std::size_t all = this->bytes();
    if (from < 0 || std::size_t(from) > all || bytes > all - std::size_t(from))
        fail(MPI_ERR_BUFFER,
             "found an array section of {} bytes, expected one that has bytes {} to {}", all, from,
             from + std::ptrdiff_t(bytes));
    return part_of(rank_, std::size_t(from), bytes);
}

core::Shape Section::part_of(int rank, std::size_t from, std::size_t bytes) const {
    if (bytes == 0) return {};
    if (rank == 0) return core::Shape::block(bytes, std::ptrdiff_t(from));
    const auto inner = std::size_t(rank - 1);
    if (bytes == sizes_[inner + 1]) return wholes_[inner + 1];
    const std::size_t size = sizes_[inner];
    std::array<core::Shape::Placed, 3> parts;
    std::size_t count = 0, index = from / size;
    const auto place = [&](core::Shape shape, std::size_t indices) {
        parts[count++] = {std::ptrdiff_t(index) * strides_[inner], std::move(shape)};
        index += indices;
    };
    if (const std::size_t start = from % size; start != 0 || bytes < size) {
        const std::size_t head = std::min(bytes, size - start);
        place(part_of(rank - 1, start, head), 1);
        bytes -= head;
    }
    if (const std::size_t full = bytes / size; full > 0)
        place(wholes_[inner].repeated(full, strides_[inner]), full);
    if (const std::size_t tail = bytes % size; tail > 0) place(part_of(rank - 1, 0, tail), 1);
    return core::Shape::sequence(std::span(parts.data(), count));
}

}  // namespace torusmp::mpi
