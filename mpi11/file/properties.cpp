// SPDX-License-Identifier: BSD-3-Clause
// Sizes, hints, views, pointers and atomicity of files (MPI-5.0, sections 14.2, 14.3, 14.6).
#include <algorithm>
#include <type_traits>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/group.h"
#include "mpi11/entry.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"
#include "mpi11/file/access.h"

namespace torusmp::mpi {
namespace {

// Collective: a number on which all members must agree; the first that differs is named.
void check_same(const File& file, const char* call, const char* what, Offset value) {
    Communicator& comm = *file.comm;
    std::vector<Offset> values(std::size_t(comm.size()));
    values[std::size_t(comm.rank())] = value;
    if (comm.size() > 1) gather_all(comm, values.data(), sizeof(Offset), call);
    for (std::size_t rank = 1; rank < values.size(); ++rank)
        if (values[rank] != values[0])
            fail(MPI_ERR_NOT_SAME, "found {} {} on rank {} and {} on rank 0", what, values[rank],
                 rank, values[0]);
}

// Collective: runs body() here and agrees on its outcome. What it threw is thrown again here, once
// the others, on which an error of the same class is thrown, have heard of it.
template <class Body>
void do_on_all(File& file, const char* call, const char* action, Body&& body) {
    int error = 0;
    std::exception_ptr refused;
    try {
        body();
    } catch (const Failure& failure) {
        refused = std::current_exception();
        error = -class_of(failure.code());
    }
    try {
        agree(file, call, action, error);
    } catch (const Failure&) {
        if (refused == nullptr) throw;
    }
    if (refused != nullptr) std::rethrow_exception(refused);
}

void refuse_sequential(const File& file) {
    if ((file.amode & MPI_MODE_SEQUENTIAL) != 0)
        fail(MPI_ERR_UNSUPPORTED_OPERATION, "found {}, which was opened with MPI_MODE_SEQUENTIAL",
             file.comm->name);
}

void check_writable(const File& file) {
    if ((file.amode & MPI_MODE_RDONLY) != 0)
        fail(MPI_ERR_READ_ONLY, "found {}, which was opened with MPI_MODE_RDONLY", file.comm->name);
}

void change_size(File& file, const char* call, Offset size, bool reserve) {
    check_writable(file);
    refuse_sequential(file);
    if (size < 0) fail(MPI_ERR_ARG, "found size {}, expected 0 or more bytes", size);
    check_same(file, call, "size", size);
    int error = 0;
    if (file.acts()) error = reserve ? file.store().reserve(size) : file.store().resize(size);
    agree(file, call, reserve ? "reserve room for" : "change the size of", error);
}

// ---- hints ----

// Collective: those of the first member hold.
void take_hints(File& file, const char* call, const Info::Entries& entries) {
    io::Hints hints = file.hints();
    for (const auto& [key, value] : entries) hints.take(key, value);
    static_assert(std::is_trivially_copyable_v<io::Hints>);
    if (file.comm->size() > 1) broadcast_bytes(*file.comm, &hints, sizeof hints, 0, call);
    file.place.hints = hints;
    file.choose_aggregators();
}

// ---- views ----

const Representation& checked_representation(const char* name) {
    check_output("datarep", name);
    const Representation* const found = find_representation(name);
    if (found == nullptr)
        fail(MPI_ERR_UNSUPPORTED_DATAREP,
             "found data representation \"{}\", expected native, internal, external32 or one that "
             "was registered",
             name);
    return *found;
}

// Blocks may overlap where the file is only read.
void check_rising(const char* which, const Datatype& type, bool reads) {
    if (!io::View::can_be(*type.layout(), reads))
        fail(MPI_ERR_IO,
             "found {} as {}, whose parts overlap, go backwards or begin below 0, expected rising "
             "displacements",
             type.describe(), which);
}

FileView make_view(const File& file, Offset displacement, Datatype& etype, Datatype& filetype,
                   const Representation& representation) {
    FileView view;
    view.displacement = displacement;
    view.etype = Reference<Datatype>(etype);
    view.filetype = Reference<Datatype>(filetype);
    view.representation = &representation;
    view.plain = representation.plain();
    const Reference<Datatype> unit = type_in_file(etype, representation);
    const Reference<Datatype> tile = type_in_file(filetype, representation);
    view.unit = unit->size();
    if (view.unit == 0)
        fail(MPI_ERR_TYPE, "found {} as etype, expected a type with data", etype.describe());
    if (tile->size() % view.unit != 0)
        fail(MPI_ERR_IO,
             "found a filetype of {} bytes and an etype of {} bytes, expected a multiple of it",
             tile->size(), view.unit);
    const bool reads = (file.amode & MPI_MODE_RDONLY) != 0;
    check_rising("etype", *unit, reads);
    check_rising("filetype", *tile, reads);
    // The same layout, and the tiles at its extent.
    auto layout = std::make_shared<const core::Layout>(tile->layout()->element(), tile->extent());
    view.bytes = io::View(displacement, std::move(layout), reads);
    return view;
}

// Collective.
void find_overlaps(File& file, const char* call) {
    if (file.residence.all()) return;
    std::vector<int> overlaps(std::size_t(file.comm->size()));
    overlaps[std::size_t(file.comm->rank())] = file.view.bytes.overlaps() ? 1 : 0;
    gather_all(*file.comm, overlaps.data(), sizeof(int), call);
    file.view_overlaps = std::find(overlaps.begin(), overlaps.end(), 1) != overlaps.end();
}

void set_view(File& file, Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* datarep, MPI_Info info) {
    constexpr const char* call = "MPI_File_set_view";
    FileView view;
    do_on_all(file, call, "set the view of", [&] {
        refuse_second_half(file);
        if (displacement == MPI_DISPLACEMENT_CURRENT && (file.amode & MPI_MODE_SEQUENTIAL) != 0) {
            const Offset position = file.position_of(file.shared->get());
            displacement = file.view.bytes.offset_of(position);
        }
        if (displacement < 0)
            fail(MPI_ERR_ARG, "found displacement {}, expected 0 or more bytes", displacement);
        view = make_view(file, displacement, committed(etype), committed(filetype),
                         checked_representation(datarep));
    });
    file.view = std::move(view);
    file.pointer = 0;
    find_overlaps(file, call);
    if (file.comm->rank() == 0) file.shared->set(0);
    take_hints(file, call, entries_of(info));
    if (file.comm->size() > 1) agree(file, call, "use", 0);
}

// One more handle of the program, unless the type is predefined.
MPI_Datatype handed_out(Datatype& type) {
    if (!type.predefined()) {
        retain(type).hand_out();
    }
    return handle_of(type);
}

// ---- pointers ----

Offset target_of(File& file, Offset offset, int whence, Offset current) {
    Offset base = 0;
    switch (whence) {
        case MPI_SEEK_SET:
            break;
        case MPI_SEEK_CUR:
            base = current;
            break;
        case MPI_SEEK_END:
            base = file.end_in_etypes();
            break;
        default:
            fail(MPI_ERR_ARG,
                 "found whence {}, expected MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", whence);
    }
    Offset target = 0;
    if (__builtin_add_overflow(base, offset, &target) || target < 0)
        fail(MPI_ERR_ARG, "found offset {} from {}, expected a place in the file", offset, base);
    return target;
}

void seek_shared(File& file, Offset offset, int whence) {
    refuse_sequential(file);
    constexpr const char* call = "MPI_File_seek_shared";
    check_same(file, call, "whence", whence);
    check_same(file, call, "offset", offset);
    do_on_all(file, call, "move the shared pointer of", [&] {
        if (file.comm->rank() == 0)
            file.shared->set(target_of(file, offset, whence, file.shared->get()));
    });
}

int type_extent(const char* call, MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
    return file_api(call, fh, [&](File& file) {
        check_output("extent", extent);
        Datatype& type = checked<Datatype>(datatype);
        *extent = type_in_file(type, *file.view.representation)->extent();
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

TORUSMP_ENTRIES(File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, Stride* extent),
                type_extent(name, fh, datatype, extent))

extern "C" {

#pragma weak MPI_File_set_size = PMPI_File_set_size
int PMPI_File_set_size(MPI_File fh, MPI_Offset size) {
    return file_api_with_others("MPI_File_set_size", fh, [&](File& file) {
        change_size(file, "MPI_File_set_size", size, false);
    });
}

#pragma weak MPI_File_preallocate = PMPI_File_preallocate
int PMPI_File_preallocate(MPI_File fh, MPI_Offset size) {
    return file_api_with_others("MPI_File_preallocate", fh, [&](File& file) {
        change_size(file, "MPI_File_preallocate", size, true);
    });
}

#pragma weak MPI_File_get_size = PMPI_File_get_size
int PMPI_File_get_size(MPI_File fh, MPI_Offset* size) {
    return file_api_with_others("MPI_File_get_size", fh, [&](File& file) {
        check_output("size", size);
        const Offset found = file.store().size();
        if (found < 0) fail_here(file, "find the size of", int(-found));
        *size = found;
    });
}

#pragma weak MPI_File_get_group = PMPI_File_get_group
int PMPI_File_get_group(MPI_File fh, MPI_Group* group) {
    return file_api("MPI_File_get_group", fh, [&](File& file) {
        check_output("group", group);
        *group = make_group(file.comm->world()->roster(), Members(file.comm->members()),
                            file.comm->session);
    });
}

#pragma weak MPI_File_get_amode = PMPI_File_get_amode
int PMPI_File_get_amode(MPI_File fh, int* amode) {
    return file_api("MPI_File_get_amode", fh, [&](File& file) {
        check_output("amode", amode);
        *amode = file.amode;
    });
}

#pragma weak MPI_File_set_info = PMPI_File_set_info
int PMPI_File_set_info(MPI_File fh, MPI_Info info) {
    return file_api_with_others("MPI_File_set_info", fh, [&](File& file) {
        take_hints(file, "MPI_File_set_info", entries_of(info));
    });
}

#pragma weak MPI_File_get_info = PMPI_File_get_info
int PMPI_File_get_info(MPI_File fh, MPI_Info* info_used) {
    return file_api("MPI_File_get_info", fh, [&](File& file) {
        check_output("info_used", info_used);
        torusmp::io::Hints used = file.hints();
        used.aggregators = int(file.place.aggregators.size());
        *info_used = handle_of(make<Info>(Info::Entries(used.entries())));
    });
}

#pragma weak MPI_File_set_view = PMPI_File_set_view
int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep, MPI_Info info) {
    return file_api_with_others("MPI_File_set_view", fh, [&](File& file) {
        set_view(file, disp, etype, filetype, datarep, info);
    });
}

#pragma weak MPI_File_get_view = PMPI_File_get_view
int PMPI_File_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                       char* datarep) {
    return file_api("MPI_File_get_view", fh, [&](File& file) {
        check_output("disp", disp);
        check_output("etype", etype);
        check_output("filetype", filetype);
        check_output("datarep", datarep);
        *disp = file.view.displacement;
        *etype = handed_out(*file.view.etype);
        *filetype = handed_out(*file.view.filetype);
        const std::string& name = file.view.representation->name();
        datarep[name.copy(datarep, MPI_MAX_DATAREP_STRING - 1)] = '\0';
    });
}

#pragma weak MPI_File_get_byte_offset = PMPI_File_get_byte_offset
int PMPI_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp) {
    return file_api("MPI_File_get_byte_offset", fh, [&](File& file) {
        check_output("disp", disp);
        refuse_sequential(file);
        if (offset < 0) fail(MPI_ERR_ARG, "found offset {}, expected 0 or more", offset);
        const Offset position = file.position_of(offset);
        *disp =
            file.view.bytes.empty() ? file.view.displacement : file.view.bytes.offset_of(position);
    });
}

#pragma weak MPI_File_seek = PMPI_File_seek
int PMPI_File_seek(MPI_File fh, MPI_Offset offset, int whence) {
    return file_api("MPI_File_seek", fh, [&](File& file) {
        refuse_sequential(file);
        const SharedLock lock(file.mutex);
        file.pointer = target_of(file, offset, whence, file.pointer);
    });
}

#pragma weak MPI_File_get_position = PMPI_File_get_position
int PMPI_File_get_position(MPI_File fh, MPI_Offset* offset) {
    return file_api("MPI_File_get_position", fh, [&](File& file) {
        check_output("offset", offset);
        refuse_sequential(file);
        const SharedLock lock(file.mutex);
        *offset = file.pointer;
    });
}

#pragma weak MPI_File_seek_shared = PMPI_File_seek_shared
int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
    return file_api_with_others("MPI_File_seek_shared", fh,
                                [&](File& file) { seek_shared(file, offset, whence); });
}

#pragma weak MPI_File_get_position_shared = PMPI_File_get_position_shared
int PMPI_File_get_position_shared(MPI_File fh, MPI_Offset* offset) {
    return file_api_with_others("MPI_File_get_position_shared", fh, [&](File& file) {
        check_output("offset", offset);
        refuse_sequential(file);
        *offset = file.shared->get();
    });
}

#pragma weak MPI_File_set_atomicity = PMPI_File_set_atomicity
int PMPI_File_set_atomicity(MPI_File fh, int flag) {
    return file_api_with_others("MPI_File_set_atomicity", fh, [&](File& file) {
        check_same(file, "MPI_File_set_atomicity", "flag", flag != 0 ? 1 : 0);
        file.atomic = flag != 0;
    });
}

#pragma weak MPI_File_get_atomicity = PMPI_File_get_atomicity
int PMPI_File_get_atomicity(MPI_File fh, int* flag) {
    return file_api("MPI_File_get_atomicity", fh, [&](File& file) {
        check_output("flag", flag);
        *flag = file.atomic ? 1 : 0;
    });
}

#pragma weak MPI_File_sync = PMPI_File_sync
int PMPI_File_sync(MPI_File fh) {
    return file_api_with_others("MPI_File_sync", fh, [&](File& file) {
        const bool writes = (file.amode & MPI_MODE_RDONLY) == 0;
        // What others wrote through this process, it flushes.
        const bool flushes = writes && (file.local != nullptr || file.acts());
        agree(file, "MPI_File_sync", "flush", flushes ? file.store().flush() : 0);
    });
}
}
