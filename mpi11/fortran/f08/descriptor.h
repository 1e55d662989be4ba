// SPDX-License-Identifier: BSD-3-Clause
// Arguments that mpi_f08 passes by descriptor: buffers of any type and shape, and strings.
#pragma once

#include <ISO_Fortran_binding.h>

#include <optional>
#include <string>
#include <vector>

#include "mpi11/datatype/datatype.h"
#include "mpi11/fortran/arguments.h"

namespace torusmp::mpi {

bool is_empty(const CFI_cdesc_t& array);

// Whether it is one block of memory, as all but sections are. The last extent of an assumed-size
// array is -1.
inline bool is_block(const CFI_cdesc_t& array) {
    auto bytes = CFI_index_t(array.elem_len);
    for (int i = 0; i < array.rank; ++i) {
        const CFI_dim_t& dimension = array.dim[i];
        if (dimension.extent < 0) return true;
        if (dimension.sm != bytes && dimension.extent != 1) return is_empty(array);
        bytes *= dimension.extent;
    }
    return true;
}

// A section; place: different for those of one call.
Section section_of(const CFI_cdesc_t& array, int place);

// A buffer as the call in C gets it: address() is its first byte, or stands for a section.
class Buffer {
  public:
    using Passed = const CFI_cdesc_t*;
    explicit Buffer(Passed array)
        : array_(*array), address_(c_buffer(array->base_addr)), block_(is_block(*array)) {}

    bool block() const { return block_; }
    Section section(int place) const { return section_of(array_, place); }
    void set(void* address) { address_ = address; }
    void* in_c() const { return address_; }

  private:
    const CFI_cdesc_t& array_;
    void* address_;
    const bool block_;
};

// Blanks at the end are not part of a string.
class String {
  public:
    using Passed = const CFI_cdesc_t*;
    explicit String(Passed text);
    const char* in_c() const { return text_.c_str(); }

  private:
    std::string text_;
};

// An array type for the sections of a call that are of one datatype; the call uses it instead.
class SectionType {
  public:
    SectionType() = default;
    SectionType(const SectionType&) = delete;
    SectionType& operator=(const SectionType&) = delete;
    ~SectionType();

    // Returns the given type if there are no sections, or if it is not valid: the call then reports
    // that.
    MPI_Datatype make(MPI_Datatype given, std::vector<Section> sections);

  private:
    Datatype* made_ = nullptr;
};

// A section that a call needs as one block: a copy in library memory while the call runs.
class Block {
  public:
    // changed: the call may write to it.
    void* copy(const Section& section, bool changed);
    // Copies back what the call wrote.
    void give_back();

  private:
    std::byte* base_ = nullptr;
    std::vector<std::byte> bytes_;
    std::optional<core::Layout> layout_;  // to be copied back
};

// Fails: the call needs one block of memory, and found a section.
int refuse_section(const char* call);

}  // namespace torusmp::mpi
