// SPDX-License-Identifier: BSD-3-Clause
// Routines of files with CHARACTER arguments, and functions of the program. gfortran passes the
// length of a CHARACTER behind all other arguments; a name has no null at its end and is padded
// with blanks.
#include <algorithm>
#include <string>
#include <string_view>

#include "mpi11/error/error_handler.h"
#include "mpi11/file/file.h"
#include "mpi11/fortran/arguments.h"

namespace torusmp::mpi {
namespace {

// Names of files lose the blanks at both ends.
std::string name_from(const char* text, std::size_t length) {
    const std::string_view whole(text, length);
    const std::size_t first = whole.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return std::string(whole.substr(first, whole.find_last_not_of(' ') + 1 - first));
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

// Passed to MPI_REGISTER_DATAREP where nothing is converted; never called.
__attribute__((visibility("default"))) void mpi_conversion_fn_null_() {}
__attribute__((visibility("default"))) void mpi_conversion_fn_null_c_() {}
}

namespace torusmp::mpi {
namespace {

void (*given(void (*function)()))() {
    return function == mpi_conversion_fn_null_ || function == mpi_conversion_fn_null_c_ ? nullptr
                                                                                        : function;
}

}  // namespace
}  // namespace torusmp::mpi

extern "C" {

void pmpi_file_open_(const MPI_Fint* comm, const char* filename, const MPI_Fint* amode,
                     const MPI_Fint* info, MPI_Fint* fh, Ierror ierror, std::size_t length) {
    MPI_File file = MPI_FILE_NULL;
    ierror = PMPI_File_open(from_fortran<MPI_Comm>(*comm), name_from(filename, length).c_str(),
                            *amode, from_fortran<MPI_Info>(*info), &file);
    *fh = to_fortran(file);
}

void pmpi_file_delete_(const char* filename, const MPI_Fint* info, Ierror ierror,
                       std::size_t length) {
    ierror = PMPI_File_delete(name_from(filename, length).c_str(), from_fortran<MPI_Info>(*info));
}

void pmpi_file_set_view_(const MPI_Fint* fh, const MPI_Offset* disp, const MPI_Fint* etype,
                         const MPI_Fint* filetype, const char* datarep, const MPI_Fint* info,
                         Ierror ierror, std::size_t length) {
    ierror =
        PMPI_File_set_view(from_fortran<MPI_File>(*fh), *disp, from_fortran<MPI_Datatype>(*etype),
                           from_fortran<MPI_Datatype>(*filetype),
                           name_from(datarep, length).c_str(), from_fortran<MPI_Info>(*info));
}

void pmpi_file_get_view_(const MPI_Fint* fh, MPI_Offset* disp, MPI_Fint* etype, MPI_Fint* filetype,
                         char* datarep, Ierror ierror, std::size_t length) {
    MPI_Datatype element = MPI_DATATYPE_NULL, tile = MPI_DATATYPE_NULL;
    char name[MPI_MAX_DATAREP_STRING] = "";
    const int code = PMPI_File_get_view(from_fortran<MPI_File>(*fh), disp, &element, &tile, name);
    ierror = code;
    if (code != MPI_SUCCESS) return;
    *etype = to_fortran(element);
    *filetype = to_fortran(tile);
    const std::string_view text(name);
    const std::size_t used = std::min(length, text.size());
    std::copy_n(text.data(), used, datarep);
    std::fill_n(datarep + used, length - used, ' ');
}

void pmpi_file_create_errhandler_(MPI_File_errhandler_function* function, MPI_Fint* errhandler,
                                  Ierror ierror) {
    ierror = file_api("MPI_File_create_errhandler", [&] {
        *errhandler = to_fortran(handle_of(
            make<ErrorHandler>(ErrorHandler::Way::fortran,
                               reinterpret_cast<MPI_Comm_errhandler_function*>(function))));
    });
}

void pmpi_register_datarep_(const char* datarep, void (*read)(), void (*write)(), void (*extent)(),
                            MPI_Aint* extra_state, Ierror ierror, std::size_t length) {
    ierror = register_representation(
        "MPI_Register_datarep", name_from(datarep, length).c_str(),
        {ConversionFunctions::Convention::fortran, given(read), given(write), extent, extra_state});
}

void pmpi_register_datarep_c_(const char* datarep, void (*read)(), void (*write)(),
                              void (*extent)(), MPI_Aint* extra_state, Ierror ierror,
                              std::size_t length) {
    ierror = register_representation("MPI_Register_datarep_c", name_from(datarep, length).c_str(),
                                     {ConversionFunctions::Convention::wide_fortran, given(read),
                                      given(write), extent, extra_state});
}
}

FORTRAN_NAME_F08(file_open)
FORTRAN_NAME_F08(file_delete)
FORTRAN_NAME_F08(file_set_view)
FORTRAN_NAME_F08(file_get_view)
FORTRAN_NAME_F08(file_create_errhandler)
FORTRAN_NAME_F08(register_datarep)
FORTRAN_NAME_F08(register_datarep_c)
