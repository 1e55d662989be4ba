// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/coll/staging.h"

#include <algorithm>
#include <cstring>

#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

void refuse_in_place(const void* address) {
    if (address == MPI_IN_PLACE) [[unlikely]]
        fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE where this call does not allow it");
}

void check_array(const void* array, int blocks, const char* which, const char* what) {
    if (array == nullptr && blocks > 0) [[unlikely]]
        fail(MPI_ERR_ARG, "found a null array of {} {}", which, what);
}

void check_counts(Numbers counts, int blocks, const char* which) {
    check_array(counts.array(), blocks, which, "counts");
    for (int i = 0; i < blocks; ++i)
        if (counts[i] < 0) [[unlikely]]
            fail(MPI_ERR_COUNT, "found {} count {} for rank {}, expected 0 or more", which,
                 counts[i], i);
}

}  // namespace

// ---- one vector ----

void Piece::set(const void* address, MPI_Count count, const Datatype& type) {
    check_buffer(address, count, type);
    if (count > 0) refuse_in_place(address);
    buffer_ = buffer_of(address, std::size_t(count), type, hold_);
    memory_ = buffer_.layout == nullptr ? buffer_.base : own_.reserve(buffer_.bytes);
}

void Piece::pack() {
    if (buffer_.layout != nullptr) buffer_.pack(0, memory_, buffer_.bytes);
}

void Piece::unpack() const {
    if (buffer_.layout != nullptr) buffer_.unpack(0, memory_, buffer_.bytes);
}

// ---- the blocks of a call ----

std::byte* BlockList::address_of(int block) const {
    std::ptrdiff_t offset = 0;
    if (even())
        offset = std::ptrdiff_t(block) * count * type->extent();
    else if (type != nullptr)
        offset = displacements[block] * type->extent();
    else
        offset = displacements[block];
    return core::displaced(base, offset);
}

BlockList BlockList::even(const void* base, MPI_Count count, MPI_Datatype type, int blocks) {
    check_count(count);
    BlockList list;
    list.type = &committed(type);
    list.base = const_cast<void*>(base);
    list.blocks = blocks;
    list.count = count;
    MPI_Count all = 0;
    if (__builtin_mul_overflow(count, MPI_Count{blocks}, &all)) [[unlikely]]
        wrong::beyond_memory(count, *list.type);
    check_buffer(base, all, *list.type);
    if (blocks > 0 && count > 0) refuse_in_place(base);
    return list;
}

BlockList BlockList::each(const void* base, Numbers counts, Numbers displacements,
                          MPI_Datatype type, int blocks, const char* which) {
    check_counts(counts, blocks, which);
    check_array(displacements.array(), blocks, which, "displacements");
    BlockList list;
    list.type = &committed(type);
    list.base = const_cast<void*>(base);
    list.blocks = blocks;
    list.counts = counts;
    list.displacements = displacements;
    MPI_Count most = 0;
    for (int i = 0; i < blocks; ++i) most = std::max(most, counts[i]);
    check_buffer(base, most, *list.type);
    if (most > 0) refuse_in_place(base);
    return list;
}

BlockList BlockList::with_types(const void* base, Numbers counts, Numbers displacements,
                                const MPI_Datatype types[], int blocks, const char* which) {
    check_counts(counts, blocks, which);
    check_array(displacements.array(), blocks, which, "displacements");
    check_array(types, blocks, which, "types");
    BlockList list;
    list.base = const_cast<void*>(base);
    list.blocks = blocks;
    list.counts = counts;
    list.displacements = displacements;
    list.types = types;
    for (int i = 0; i < blocks; ++i) {
        if (counts[i] == 0) continue;
        const Datatype& type = committed(types[i]);
        refuse_in_place(base);
        // Displacements from MPI_BOTTOM are addresses.
        check_buffer(list.address_of(i), counts[i], type);
    }
    return list;
}

// ---- a block for each member ----

void BlockPieces::set(const BlockList& list, bool together) {
    buffers_.clear();
    bytes_ = 0;
    if (list.even()) return set_even(list);
    const auto blocks = std::size_t(list.blocks);
    sizes_.resize(blocks);
    offsets_.resize(blocks);
    MPI_Count bytes = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
        sizes_[i] = list.bytes_of(int(i));
        add_count(bytes, MPI_Count(sizes_[i]));
    }
    bytes_ = std::size_t(bytes);
    if (together || !set_in_place(list)) set_apart(list);
    blocks_ = collectives::Blocks::each(sizes_, offsets_);
}

void BlockPieces::set_even(const BlockList& list) {
    const std::size_t size = list.bytes_of(0);
    blocks_ = collectives::Blocks::even(size);
    bytes_ = size * std::size_t(list.blocks);
    if (list.type->dense()) {
        memory_ = core::displaced(list.base, list.type->true_lb());
        return;
    }
    // All blocks form one vector of the program.
    holds_.resize(std::max<std::size_t>(holds_.size(), 1));
    buffers_.push_back(mpi::buffer_of(list.base, std::size_t(list.count) * std::size_t(list.blocks),
                                      *list.type, holds_[0]));
    memory_ = own_.reserve(bytes_);
}

// Returns false if some are not one block of memory each.
bool BlockPieces::set_in_place(const BlockList& list) {
    const auto begin_of = [&](int i) {
        return reinterpret_cast<std::uintptr_t>(
            core::displaced(list.address_of(i), list.type_of(i).true_lb()));
    };
    std::uintptr_t lowest = ~std::uintptr_t{0};
    for (int i = 0; i < list.blocks; ++i) {
        if (sizes_[std::size_t(i)] == 0) continue;
        if (!list.type_of(i).dense()) return false;
        lowest = std::min(lowest, begin_of(i));
    }
    for (int i = 0; i < list.blocks; ++i)
        offsets_[std::size_t(i)] = sizes_[std::size_t(i)] == 0 ? 0 : begin_of(i) - lowest;
    memory_ = bytes_ == 0 ? nullptr : reinterpret_cast<std::byte*>(lowest);
    return true;
}

void BlockPieces::set_apart(const BlockList& list) {
    if (holds_.size() < std::size_t(list.blocks)) holds_.resize(std::size_t(list.blocks));
    std::size_t offset = 0;
    for (std::size_t i = 0; i < std::size_t(list.blocks); ++i) {
        offsets_[i] = offset;
        offset += sizes_[i];
        buffers_.push_back(sizes_[i] == 0 ? core::Buffer{} : list.buffer_of(int(i), holds_[i]));
    }
    memory_ = own_.reserve(bytes_);
}

void BlockPieces::pack() {
    if (buffers_.empty()) return;
    if (blocks_.is_even()) return buffers_[0].pack(0, memory_, bytes_);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        buffers_[i].pack(0, memory_ + offsets_[i], sizes_[i]);
}

void BlockPieces::pack(int block) {
    if (buffers_.empty()) return;
    std::byte* const to = memory_ + blocks_.offset(block);
    if (blocks_.is_even())
        buffers_[0].pack(blocks_.offset(block), to, blocks_.size(block));
    else
        buffers_[std::size_t(block)].pack(0, to, blocks_.size(block));
}

void BlockPieces::unpack() const {
    if (buffers_.empty()) return;
    if (blocks_.is_even()) return buffers_[0].unpack(0, memory_, bytes_);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        buffers_[i].unpack(0, memory_ + offsets_[i], sizes_[i]);
}

void BlockPieces::unpack_but(int block) const {
    if (buffers_.empty()) return;
    if (!blocks_.is_even()) {
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            if (int(i) != block) buffers_[i].unpack(0, memory_ + offsets_[i], sizes_[i]);
        return;
    }
    const std::size_t from = blocks_.offset(block);
    const std::size_t to = from + blocks_.size(block);
    buffers_[0].unpack(0, memory_, from);
    buffers_[0].unpack(to, memory_ + to, bytes_ - to);
}

}  // namespace torusmp::mpi
