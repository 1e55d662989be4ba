// SPDX-License-Identifier: BSD-3-Clause
// Buffers of the program for use in a collective: used directly if they are one block of memory,
// otherwise packed into library memory before and unpacked from it after the call.
//
// Held by their collective, and set again for each call; the memory is kept. Datatypes may be freed
// meanwhile: the required parts are held. One thread at a time.
#pragma once

#include <span>
#include <vector>

#include "collectives/schedule/blocks.h"
#include "collectives/schedule/schedule.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/numbers.h"

namespace torusmp::mpi {

// One vector.
class Piece {
  public:
    // Throws Failure if the buffer is null, or MPI_IN_PLACE, which the caller has to handle.
    void set(const void* address, MPI_Count count, const Datatype& type);
    void set_nothing() {
        buffer_ = {};
        memory_ = nullptr;
    }

    // The memory that the collective reads or writes.
    std::byte* memory() const { return memory_; }
    std::size_t bytes() const { return buffer_.bytes; }
    void pack();
    void unpack() const;

  private:
    core::Buffer buffer_;
    LayoutHold hold_;
    std::byte* memory_ = nullptr;
    collectives::Scratch own_;
};

// The counts and displacements of a call, as given: by block, or the same for all.
struct BlockList {
    void* base = nullptr;
    int blocks = 0;
    MPI_Count count = 0;             // even blocks, of `type`
    const Datatype* type = nullptr;  // null to use `types`
    Numbers counts;                  // empty if even
    Numbers displacements;           // in extents of `type`; in bytes with `types`
    const MPI_Datatype* types = nullptr;

    bool even() const { return !counts.given(); }
    MPI_Count count_of(int block) const { return even() ? count : counts[block]; }
    // The type may be invalid if the number of elements is 0.
    const Datatype& type_of(int block) const {
        if (type != nullptr) return *type;
        return counts[block] == 0 ? datatype_of(Basic::byte) : *find<Datatype>(types[block]);
    }
    std::size_t bytes_of(int block) const {
        return std::size_t(count_of(block)) * type_of(block).size();
    }
    std::byte* address_of(int block) const;
    core::Buffer buffer_of(int block, LayoutHold& hold) const {
        return mpi::buffer_of(address_of(block), std::size_t(count_of(block)), type_of(block),
                              hold);
    }

    // Throw Failure in terms of the call's arguments. `which` is "send" or "receive".
    static BlockList even(const void* base, MPI_Count count, MPI_Datatype type, int blocks);
    static BlockList each(const void* base, Numbers counts, Numbers displacements,
                          MPI_Datatype type, int blocks, const char* which);
    static BlockList with_types(const void* base, Numbers counts, Numbers displacements,
                                const MPI_Datatype types[], int blocks, const char* which);
};

// A block for each member of a group.
class BlockPieces {
  public:
    // With `together`, the blocks must be contiguous, in order and without gaps.
    void set(const BlockList& list, bool together = false);

    std::byte* memory() const { return memory_; }
    const collectives::Blocks& blocks() const { return blocks_; }
    std::size_t bytes_of(int block) const { return blocks_.size(block); }
    std::size_t bytes() const { return bytes_; }  // in all
    // Copies to and from the program's memory; does nothing if that is used directly.
    void pack();
    void pack(int block);
    void unpack() const;
    void unpack_but(int block) const;

  private:
    void set_even(const BlockList& list);
    bool set_in_place(const BlockList& list);
    void set_apart(const BlockList& list);

    std::byte* memory_ = nullptr;
    collectives::Blocks blocks_;
    std::size_t bytes_ = 0;
    std::vector<std::size_t> sizes_;  // by block, if not even
    std::vector<std::size_t> offsets_;
    // If the blocks are in library memory: their places in the program's memory.
    std::vector<core::Buffer> buffers_;
    std::vector<LayoutHold> holds_;
    collectives::Scratch own_;
};

}  // namespace torusmp::mpi
