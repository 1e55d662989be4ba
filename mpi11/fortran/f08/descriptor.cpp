// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/fortran/f08/descriptor.h"

namespace torusmp::mpi {

bool is_empty(const CFI_cdesc_t& array) {
    for (int i = 0; i < array.rank; ++i)
        if (array.dim[i].extent == 0) return true;
    return false;
}

Section section_of(const CFI_cdesc_t& array, int place) {
    Section section(array.base_addr, array.elem_len, place);
    for (int i = 0; i < array.rank; ++i)
        section.add({std::size_t(array.dim[i].extent), array.dim[i].sm});
    return section;
}

String::String(Passed text) : text_(static_cast<const char*>(text->base_addr), text->elem_len) {
    text_.erase(text_.find_last_not_of(' ') + 1);
}

int refuse_section(const char* call) {
    return api(call, [] {
        fail(MPI_ERR_BUFFER,
             "found an array section with gaps, expected contiguous memory: pass a whole array, or "
             "a copy of the section");
    });
}

}  // namespace torusmp::mpi
