// SPDX-License-Identifier: BSD-3-Clause
// Arguments that mpi_f08 passes by descriptor (CFI_cdesc_t): buffers of any type and shape, and
// strings.
#pragma once

#include <ISO_Fortran_binding.h>

#include <string>

#include "mpi11/datatype/section.h"
#include "mpi11/fortran/arguments.h"

namespace torusmp::mpi {

// Whether the array has no elements.
bool is_empty(const CFI_cdesc_t& array);

// Whether the array is one block of memory: true for everything but sections. The last extent of an
// assumed-size array is -1.
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

// The array as a section. `place` is a number that no other section of the call has.
Section section_of(const CFI_cdesc_t& array, int place);

// A buffer, converted for the function in C. in_c() is the address of its first byte, or an address
// that stands for the section.
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

// A string, converted for the function in C: without the blanks at its end.
class String {
  public:
    using Passed = const CFI_cdesc_t*;
    explicit String(Passed text);
    const char* in_c() const { return text_.c_str(); }

  private:
    std::string text_;
};

// Raises the error of a call that needs one block of memory and found a section.
int refuse_section(const char* call);

}  // namespace torusmp::mpi
