// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/fortran/f08/sections.h"

#include <algorithm>

namespace torusmp::mpi {

void Sections::add(Buffer& buffer, int place, bool changed, BufferUse use, MPI_Datatype* type) {
    if (!buffer.block()) used_.push_back({&buffer, place, changed, use, type});
}

bool Sections::replace() {
    if (std::ranges::any_of(used_, [](const Used& used) { return used.use == BufferUse::untyped; }))
        return false;
    for (const Used& used : used_)
        if (used.use == BufferUse::packed) copy(used);
    // Buffers of one datatype, such as both of a reduction, are described by one.
    std::vector<MPI_Datatype*> types;
    for (const Used& used : used_)
        if (used.use == BufferUse::typed && std::ranges::find(types, used.type) == types.end())
            types.push_back(used.type);
    for (MPI_Datatype* type : types) set_type(*type);
    for (const Used& used : used_)
        if (used.use == BufferUse::typed)
            used.buffer->set(used.buffer->section(used.place).address());
    return true;
}

void Sections::set_type(MPI_Datatype& type) {
    std::vector<Section> sections;
    for (const Used& used : used_)
        if (used.use == BufferUse::typed && used.type == &type)
            sections.push_back(used.buffer->section(used.place));
    type = type_of(type, std::move(sections));
}

MPI_Datatype Sections::type_of(MPI_Datatype given, std::vector<Section> sections) {
    Datatype* const type = find<Datatype>(given);
    if (type == nullptr || !type->committed()) return given;
    types_.push_back(&make<Datatype>(*type, std::move(sections)));
    return handle_of(*types_.back());
}

void Sections::copy(const Used& used) {
    const Section section = used.buffer->section(used.place);
    Block& block = blocks_.emplace_back(
        Block{section.base(), {}, core::Layout(section.whole()), used.changed});
    block.bytes.resize(section.bytes());
    block.layout.pack(block.base, 0, block.bytes.data(), block.bytes.size());
    used.buffer->set(block.bytes.data());
}

void Sections::give_back() {
    for (Block& block : blocks_)
        if (block.changed)
            block.layout.unpack(block.base, 0, block.bytes.data(), block.bytes.size());
}

Sections::~Sections() {
    for (Datatype* type : types_) {
        type->take_back();
        release(*type);
    }
}

}  // namespace torusmp::mpi
