// SPDX-License-Identifier: BSD-3-Clause
// Packing into and out of memory of the program (MPI-1.1, section 3.13), and the size of a received
// message in elements of a datatype (sections 3.2.5 and 3.12.5).
//
// A packed message is just its bytes in sequence: all processes of a job run on machines of the
// same type.
#include "mpi11/datatype/datatype.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/status.h"

namespace torusmp::mpi {
namespace {

// Elements of a type in the program's memory, with a packed buffer and a position in it.
template <class Count>
struct Packing {
    const Datatype& type;
    core::Buffer elements;
    std::size_t room;  // in the packed buffer, from the position on

    Packing(MPI_Datatype datatype, const void* buffer, Count count, const void* packed, Count size,
            const Count* position)
        : type(committed(datatype)) {
        check_count(count);
        check_output("position", position);
        if (size < 0) fail(MPI_ERR_ARG, "found a packed buffer of {} bytes", size);
        if (*position < 0 || *position > size)
            fail(MPI_ERR_ARG, "found position {}, expected 0 to {}, the size of the packed buffer",
                 *position, size);
        check_buffer(buffer, count, type);
        elements = buffer_of(buffer, std::size_t(count), type, hold);
        room = std::size_t(size - *position);
        if (elements.bytes > room)
            fail(MPI_ERR_TRUNCATE, "found {} bytes after position {}, expected {} for {} of {}",
                 room, *position, elements.bytes, count, type.describe());
        if (packed == nullptr && elements.bytes != 0)
            fail(MPI_ERR_BUFFER, "found a null pointer for the packed buffer");
    }
    LayoutHold hold;
};

template <class Count>
Count elements_or_undefined(const std::optional<std::size_t>& elements) {
    return elements ? fitting<Count>(*elements) : Count{MPI_UNDEFINED};
}

// The number of whole elements of the type in a message.
std::optional<std::size_t> count_in(std::size_t bytes, const Datatype& type) {
    if (bytes == 0) return 0;
    if (type.size() == 0 || bytes % type.size() != 0) return std::nullopt;
    return bytes / type.size();
}

const MPI_Status& checked_status(const MPI_Status* status) {
    if (status == nullptr) fail(MPI_ERR_ARG, "found MPI_STATUS_IGNORE, expected a status");
    return *status;
}

template <class Count>
int pack(const char* call, const void* in, Count count, MPI_Datatype datatype, void* out,
         Count size, Count* position, MPI_Comm comm) {
    return api(call, comm, [&](Communicator&) {
        const Packing<Count> packing(datatype, in, count, out, size, position);
        packing.elements.pack(0, static_cast<std::byte*>(out) + *position, packing.elements.bytes);
        *position += Count(packing.elements.bytes);
    });
}

template <class Count>
int unpack(const char* call, const void* in, Count size, Count* position, void* out, Count count,
           MPI_Datatype datatype, MPI_Comm comm) {
    return api(call, comm, [&](Communicator&) {
        const Packing<Count> packing(datatype, out, count, in, size, position);
        packing.elements.unpack(0, static_cast<const std::byte*>(in) + *position,
                                packing.elements.bytes);
        *position += Count(packing.elements.bytes);
    });
}

template <class Count>
int pack_size(const char* call, Count count, MPI_Datatype datatype, MPI_Comm comm, Count* size) {
    return api(call, comm, [&](Communicator&) {
        check_count(count);
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(std::size_t(count), type.size(), &bytes))
            *size = MPI_UNDEFINED;
        else
            *size = fitting<Count>(bytes);
    });
}

template <class Count>
int get_count(const char* call, const MPI_Status* status, MPI_Datatype datatype, Count* count) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("count", count);
        *count = elements_or_undefined<Count>(count_in(bytes_of(checked_status(status)), type));
    });
}

template <class Count>
int get_elements(const char* call, const MPI_Status* status, MPI_Datatype datatype, Count* count) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("count", count);
        *count = elements_or_undefined<Count>(
            type.signature().elements_in(bytes_of(checked_status(status))));
    });
}

int set_elements(const char* call, MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
    return api(call, [&] {
        check_count(count);
        checked_status(status);
        const Datatype& type = checked<Datatype>(datatype);
        const std::size_t bytes = type.signature().bytes_of(std::size_t(count));
        if (type.size() != 0 && type.signature().elements_in(bytes) != std::size_t(count))
            wrong::beyond_memory(count, type);
        set_bytes(*status, bytes);
    });
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Pack,
                (const void* inbuf, Count incount, MPI_Datatype datatype, void* outbuf,
                 Count outsize, Count* position, MPI_Comm comm),
                pack(name, inbuf, incount, datatype, outbuf, outsize, position, comm))
TORUSMP_ENTRIES(Unpack,
                (const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
                 MPI_Datatype datatype, MPI_Comm comm),
                unpack(name, inbuf, insize, position, outbuf, outcount, datatype, comm))
TORUSMP_ENTRIES(Pack_size, (Count incount, MPI_Datatype datatype, MPI_Comm comm, Count* size),
                pack_size(name, incount, datatype, comm, size))

// Functions that MPI-3 named with _x and MPI-4 names with _c.
TORUSMP_ENTRIES(Get_count, (const MPI_Status* status, MPI_Datatype datatype, Count* count),
                get_count(name, status, datatype, count))
TORUSMP_ENTRIES(Get_elements, (const MPI_Status* status, MPI_Datatype datatype, Count* count),
                get_elements(name, status, datatype, count))
TORUSMP_ENTRY(Get_elements_x, wide, (const MPI_Status* status, MPI_Datatype datatype, Count* count),
              get_elements(name, status, datatype, count))
TORUSMP_ENTRIES(Status_set_elements, (MPI_Status * status, MPI_Datatype datatype, Count count),
                set_elements(name, status, datatype, count))
TORUSMP_ENTRY(Status_set_elements_x, wide,
              (MPI_Status * status, MPI_Datatype datatype, Count count),
              set_elements(name, status, datatype, count))
