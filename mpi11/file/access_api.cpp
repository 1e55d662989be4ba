// SPDX-License-Identifier: BSD-3-Clause
// The functions that read and write files (MPI-5.0, section 14.4), in all their forms.
#include "mpi11/entry.h"
#include "mpi11/file/access.h"

namespace torusmp::mpi {
namespace {

using Waiting = void(File&, const FileArguments&, MPI_Status*);
using Later = void(File&, const FileArguments&, MPI_Request*);

template <Waiting* access>
int waits(MPI_File fh, MPI_Status* status, const FileArguments& arguments) {
    return file_api_with_others(arguments.call, fh,
                                [&](File& file) { access(file, arguments, status); });
}
template <Later* access>
int later(MPI_File fh, MPI_Request* request, const FileArguments& arguments) {
    return file_api_with_others(arguments.call, fh,
                                [&](File& file) { access(file, arguments, request); });
}
int begins(MPI_File fh, const FileArguments& arguments) {
    return file_api_with_others(arguments.call, fh,
                                [&](File& file) { begin_together(file, arguments); });
}
int ends(const char* call, MPI_File fh, const void* buffer, MPI_Status* status) {
    return file_api_with_others(call, fh,
                                [&](File& file) { end_together(file, call, buffer, status); });
}

}  // namespace
}  // namespace torusmp::mpi

#define AT \
    { name, write, Where::at, offset, buf, count, datatype }
#define BY(where) \
    { name, write, Where::where, 0, buf, count, datatype }
#define MEMORY(const_) const_ void *buf, Count count, MPI_Datatype datatype
#define PAIR(Read, Write, before, after, ...)                               \
    TORUSMP_ENTRIES(Read, (MPI_File fh, before MEMORY() after), [&] {       \
        constexpr bool write = false;                                       \
        return __VA_ARGS__;                                                 \
    }())                                                                    \
    TORUSMP_ENTRIES(Write, (MPI_File fh, before MEMORY(const) after), [&] { \
        constexpr bool write = true;                                        \
        return __VA_ARGS__;                                                 \
    }())
#define OFFSET MPI_Offset offset,
#define STATUS , MPI_Status* status
#define REQUEST , MPI_Request* request

PAIR(File_read_at, File_write_at, OFFSET, STATUS, (waits<access_alone>(fh, status, AT)))
PAIR(File_read_at_all, File_write_at_all, OFFSET, STATUS, (waits<access_together>(fh, status, AT)))
PAIR(File_read, File_write, , STATUS, (waits<access_alone>(fh, status, BY(pointer))))
PAIR(File_read_all, File_write_all, , STATUS, (waits<access_together>(fh, status, BY(pointer))))
PAIR(File_read_shared, File_write_shared, , STATUS, (waits<access_alone>(fh, status, BY(shared))))
PAIR(File_read_ordered, File_write_ordered, , STATUS,
     (waits<access_together>(fh, status, BY(ordered))))

PAIR(File_iread_at, File_iwrite_at, OFFSET, REQUEST, (later<access_alone_later>(fh, request, AT)))
PAIR(File_iread_at_all, File_iwrite_at_all, OFFSET, REQUEST,
     (later<access_together_later>(fh, request, AT)))
PAIR(File_iread, File_iwrite, , REQUEST, (later<access_alone_later>(fh, request, BY(pointer))))
PAIR(File_iread_all, File_iwrite_all, , REQUEST,
     (later<access_together_later>(fh, request, BY(pointer))))
PAIR(File_iread_shared, File_iwrite_shared, , REQUEST,
     (later<access_alone_later>(fh, request, BY(shared))))

PAIR(File_read_at_all_begin, File_write_at_all_begin, OFFSET, , begins(fh, AT))
PAIR(File_read_all_begin, File_write_all_begin, , , begins(fh, BY(pointer)))
PAIR(File_read_ordered_begin, File_write_ordered_begin, , , begins(fh, BY(ordered)))

#define ENDS(Name, const_)                                                           \
    TORUSMP_ENTRY(Name, narrow, (MPI_File fh, const_ void* buf, MPI_Status* status), \
                  ends(name, fh, buf, status))
ENDS(File_read_at_all_end, )
ENDS(File_write_at_all_end, const)
ENDS(File_read_all_end, )
ENDS(File_write_all_end, const)
ENDS(File_read_ordered_end, )
ENDS(File_write_ordered_end, const)
