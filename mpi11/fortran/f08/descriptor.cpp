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

bool SectionCall::begin(std::span<DescribedBuffer> buffers) {
    for (const DescribedBuffer& given : buffers)
        if (given.buffer != nullptr && given.use == BufferUse::untyped && !given.buffer->block())
            return false;
    std::size_t types = 0, blocks = 0;
    for (std::size_t place = 0; place < buffers.size(); ++place) {
        const DescribedBuffer& given = buffers[place];
        if (given.buffer == nullptr || given.buffer->block()) continue;
        const Section section = given.buffer->section(int(place));
        if (given.use == BufferUse::packed)
            given.buffer->set(blocks_[blocks++].copy(section, given.changed));
        else
            given.buffer->set(section.address());
    }
    // Buffers may share their datatype.
    for (std::size_t first = 0; first < buffers.size(); ++first) {
        MPI_Datatype* const type = buffers[first].type;
        std::vector<Section> sections;
        bool done = type == nullptr;
        for (std::size_t place = 0; place < buffers.size() && !done; ++place) {
            if (buffers[place].type != type) continue;
            done = place < first;
            if (!buffers[place].buffer->block())
                sections.push_back(buffers[place].buffer->section(int(place)));
        }
        if (!done && !sections.empty()) *type = types_[types++].make(*type, std::move(sections));
    }
    return true;
}

void SectionCall::end() {
    for (Block& block : blocks_) block.give_back();
}

int refuse_section(const char* call) {
    return api(call, [] {
        fail(MPI_ERR_BUFFER,
             "found an array section with gaps, expected contiguous memory: pass a whole array, or "
             "a copy of the section");
    });
}

}  // namespace torusmp::mpi
