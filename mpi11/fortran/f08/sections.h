// SPDX-License-Identifier: BSD-3-Clause
// The array sections among the buffers of one call from mpi_f08. The function in C gets in their
// place a datatype that describes where the elements are (datatype/section.h), or a copy in one
// block of memory.
#pragma once

#include <list>
#include <vector>

#include "mpi11/datatype/datatype.h"
#include "mpi11/fortran/f08/descriptor.h"

namespace torusmp::mpi {

// How a function uses a buffer, which the parameters after the buffer show: typed, as elements of
// the datatype among them; packed, as bytes from a position on; or untyped.
enum class BufferUse { typed, packed, untyped };

class Sections {
  public:
    Sections() = default;
    Sections(const Sections&) = delete;
    Sections& operator=(const Sections&) = delete;
    ~Sections();

    // Adds a buffer of the call. `place` is a number that no other buffer of the call has,
    // `changed` whether the function may write to the buffer, and `type` the argument that is its
    // datatype, if typed. Both arguments must exist as long as this object.
    void add(Buffer& buffer, int place, bool changed, BufferUse use, MPI_Datatype* type);

    // Changes the arguments of the call. False, and nothing changed, if a buffer is a section and
    // the function needs one block of memory.
    bool replace();

    // The datatype that describes elements of `given` in these sections of its buffers. It exists
    // as long as this object. Returns `given` if that is invalid, so that the function reports it.
    MPI_Datatype type_of(MPI_Datatype given, std::vector<Section> sections);

    // Copies blocks back to their sections, after the call.
    void give_back();

  private:
    struct Used {
        Buffer* buffer;
        int place;
        bool changed;
        BufferUse use;
        MPI_Datatype* type;
    };
    struct Block {
        std::byte* base;  // of the section
        std::vector<std::byte> bytes;
        core::Layout layout;  // of the section
        bool changed;
    };
    void set_type(MPI_Datatype& type);
    void copy(const Used& used);

    std::vector<Used> used_;  // only sections
    std::list<Block> blocks_;
    std::vector<Datatype*> types_;
};

}  // namespace torusmp::mpi
