// Packing into and out of memory of the program (MPI-1.1, section 3.13), and what a received
// message is in elements of a datatype (sections 3.2.5 and 3.12.5).
//
// A packed message is its bytes one behind the other: all processes of a job run on machines of one
// kind.
#include <climits>

#include "mpi11/check.h"
#include "mpi11/datatype.h"
#include "mpi11/status.h"

namespace torusmp::mpi {
namespace {

// Elements of a type in the program's memory, next to a packed buffer with a position.
struct Packing {
    const Datatype& type;
    core::Buffer elements;
    std::size_t room;  // in the packed buffer, from the position on

    Packing(MPI_Datatype datatype, const void* buffer, int count, const void* packed, int size,
            const int* position)
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
            fail(MPI_ERR_TRUNCATE,
                 "found {} bytes behind position {}, expected the {} that {} of {} take", room,
                 *position, elements.bytes, count, type.describe());
        if (packed == nullptr && elements.bytes != 0)
            fail(MPI_ERR_BUFFER, "found a null pointer for the packed buffer");
    }
    LayoutHold hold;
};

int elements_or_undefined(const std::optional<std::size_t>& elements) {
    return !elements || *elements > std::size_t(INT_MAX) ? MPI_UNDEFINED : int(*elements);
}

// How many whole elements of the type a message has.
std::optional<std::size_t> count_in(std::size_t bytes, const Datatype& type) {
    if (bytes == 0) return 0;
    if (type.size() == 0 || bytes % type.size() != 0) return std::nullopt;
    return bytes / type.size();
}

const MPI_Status& checked_status(const MPI_Status* status) {
    if (status == nullptr) fail(MPI_ERR_ARG, "found MPI_STATUS_IGNORE, expected a status");
    return *status;
}

void set_elements(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
    if (count < 0) fail(MPI_ERR_COUNT, "found count {}, expected 0 or more", count);
    checked_status(status);
    set_bytes(*status, checked<Datatype>(datatype).signature().bytes_of(std::size_t(count)));
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Pack = PMPI_Pack
int PMPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
              int* position, MPI_Comm comm) {
    return api("MPI_Pack", comm, [&](Communicator&) {
        const Packing packing(datatype, inbuf, incount, outbuf, outsize, position);
        packing.elements.pack(0, static_cast<std::byte*>(outbuf) + *position,
                              packing.elements.bytes);
        *position += int(packing.elements.bytes);
    });
}

#pragma weak MPI_Unpack = PMPI_Unpack
int PMPI_Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm) {
    return api("MPI_Unpack", comm, [&](Communicator&) {
        const Packing packing(datatype, outbuf, outcount, inbuf, insize, position);
        packing.elements.unpack(0, static_cast<const std::byte*>(inbuf) + *position,
                                packing.elements.bytes);
        *position += int(packing.elements.bytes);
    });
}

#pragma weak MPI_Pack_size = PMPI_Pack_size
int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int* size) {
    return api("MPI_Pack_size", comm, [&](Communicator&) {
        check_count(incount);
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        *size = elements_or_undefined(std::size_t(incount) * type.size());
    });
}

#pragma weak MPI_Get_count = PMPI_Get_count
int PMPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
    return api("MPI_Get_count", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("count", count);
        *count = elements_or_undefined(count_in(bytes_of(checked_status(status)), type));
    });
}

#pragma weak MPI_Get_elements = PMPI_Get_elements
int PMPI_Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count) {
    return api("MPI_Get_elements", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("count", count);
        *count =
            elements_or_undefined(type.signature().elements_in(bytes_of(checked_status(status))));
    });
}

#pragma weak MPI_Get_elements_x = PMPI_Get_elements_x
int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
    return api("MPI_Get_elements_x", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("count", count);
        const auto elements = type.signature().elements_in(bytes_of(checked_status(status)));
        *count = elements ? MPI_Count(*elements) : MPI_UNDEFINED;
    });
}

#pragma weak MPI_Status_set_elements = PMPI_Status_set_elements
int PMPI_Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
    return api("MPI_Status_set_elements", [&] { set_elements(status, datatype, count); });
}

#pragma weak MPI_Status_set_elements_x = PMPI_Status_set_elements_x
int PMPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
    return api("MPI_Status_set_elements_x", [&] { set_elements(status, datatype, count); });
}
}
