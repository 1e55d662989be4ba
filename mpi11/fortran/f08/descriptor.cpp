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

MPI_Datatype SectionType::make(MPI_Datatype given, std::vector<Section> sections) {
    Datatype* const type = find<Datatype>(given);
    if (sections.empty() || type == nullptr || !type->committed()) return given;
    made_ = &mpi::make<Datatype>(*type, std::move(sections));
    return handle_of(*made_);
}

SectionType::~SectionType() {
    if (made_ == nullptr) return;
    made_->take_back();
    release(*made_);
}

void* Block::copy(const Section& section, bool changed) {
    base_ = section.base();
    bytes_.resize(section.bytes());
    layout_.emplace(section.whole());
    layout_->pack(base_, 0, bytes_.data(), bytes_.size());
    if (!changed) layout_.reset();
    return bytes_.data();
}

void Block::give_back() {
    if (layout_) layout_->unpack(base_, 0, bytes_.data(), bytes_.size());
}

int refuse_section(const char* call) {
    return api(call, [] {
        fail(MPI_ERR_BUFFER,
             "found an array section with gaps, expected contiguous memory: pass a whole array, or "
             "a copy of the section");
    });
}

}  // namespace torusmp::mpi
