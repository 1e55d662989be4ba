// SPDX-License-Identifier: BSD-3-Clause
// Routines with CHARACTER arguments. gfortran passes the length of each after all other arguments;
// a text has no null at its end and is padded with blanks.
#include <algorithm>
#include <cstring>

#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/text.h"

namespace torusmp::mpi {
namespace {

// call(buffer, &length) writes at most `most` characters including a null.
template <int most, class Function>
int fill_from(char* text, MPI_Fint* result_length, Length length, Function&& call) {
    char buffer[most] = "";
    int found = 0;
    const int code = call(buffer, &found);
    if (code != MPI_SUCCESS) return code;
    fill(text, length, buffer);
    *result_length = std::min(found, int(length));
    return code;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

void pmpi_get_library_version_(char* version, MPI_Fint* resultlen, Ierror ierror, Length length) {
    ierror = fill_from<MPI_MAX_LIBRARY_VERSION_STRING>(version, resultlen, length,
                                                       PMPI_Get_library_version);
}

void pmpi_get_processor_name_(char* name, MPI_Fint* resultlen, Ierror ierror, Length length) {
    ierror = fill_from<MPI_MAX_PROCESSOR_NAME>(name, resultlen, length, PMPI_Get_processor_name);
}

void pmpi_error_string_(const MPI_Fint* code, char* text, MPI_Fint* resultlen, Ierror ierror,
                        Length length) {
    ierror = fill_from<MPI_MAX_ERROR_STRING>(
        text, resultlen, length,
        [&](char* buffer, int* found) { return PMPI_Error_string(*code, buffer, found); });
}

void pmpi_add_error_string_(const MPI_Fint* code, const char* text, Ierror ierror, Length length) {
    ierror = PMPI_Add_error_string(*code, c_string(text, length).c_str());
}

// ---- names of objects ----

void pmpi_comm_set_name_(const MPI_Fint* comm, const char* name, Ierror ierror, Length length) {
    ierror = PMPI_Comm_set_name(from_fortran<MPI_Comm>(*comm), c_string(name, length).c_str());
}

void pmpi_comm_get_name_(const MPI_Fint* comm, char* name, MPI_Fint* resultlen, Ierror ierror,
                         Length length) {
    ierror = fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
        return PMPI_Comm_get_name(from_fortran<MPI_Comm>(*comm), buffer, found);
    });
}

void pmpi_type_set_name_(const MPI_Fint* type, const char* name, Ierror ierror, Length length) {
    ierror = PMPI_Type_set_name(from_fortran<MPI_Datatype>(*type), c_string(name, length).c_str());
}

void pmpi_type_get_name_(const MPI_Fint* type, char* name, MPI_Fint* resultlen, Ierror ierror,
                         Length length) {
    ierror = fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
        return PMPI_Type_get_name(from_fortran<MPI_Datatype>(*type), buffer, found);
    });
}

void pmpi_win_set_name_(const MPI_Fint* win, const char* name, Ierror ierror, Length length) {
    ierror = PMPI_Win_set_name(from_fortran<MPI_Win>(*win), c_string(name, length).c_str());
}

void pmpi_win_get_name_(const MPI_Fint* win, char* name, MPI_Fint* resultlen, Ierror ierror,
                        Length length) {
    ierror = fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
        return PMPI_Win_get_name(from_fortran<MPI_Win>(*win), buffer, found);
    });
}

// ---- external data ----

void pmpi_pack_external_(const char* datarep, void* inbuf, const MPI_Fint* incount,
                         const MPI_Fint* type, void* outbuf, const MPI_Aint* outsize,
                         MPI_Aint* position, Ierror ierror, Length length) {
    ierror =
        PMPI_Pack_external(c_string(datarep, length).c_str(), c_buffer(inbuf), *incount,
                           from_fortran<MPI_Datatype>(*type), c_buffer(outbuf), *outsize, position);
}

void pmpi_unpack_external_(const char* datarep, void* inbuf, const MPI_Aint* insize,
                           MPI_Aint* position, void* outbuf, const MPI_Fint* outcount,
                           const MPI_Fint* type, Ierror ierror, Length length) {
    ierror =
        PMPI_Unpack_external(c_string(datarep, length).c_str(), c_buffer(inbuf), *insize, position,
                             c_buffer(outbuf), *outcount, from_fortran<MPI_Datatype>(*type));
}

void pmpi_pack_external_size_(const char* datarep, const MPI_Fint* incount, const MPI_Fint* type,
                              MPI_Aint* size, Ierror ierror, Length length) {
    ierror = PMPI_Pack_external_size(c_string(datarep, length).c_str(), *incount,
                                     from_fortran<MPI_Datatype>(*type), size);
}

// ---- infos ----

void pmpi_info_set_(const MPI_Fint* info, const char* key, const char* value, Ierror ierror,
                    Length key_length, Length value_length) {
    ierror = PMPI_Info_set(from_fortran<MPI_Info>(*info), trimmed(key, key_length).c_str(),
                           trimmed(value, value_length).c_str());
}

void pmpi_info_delete_(const MPI_Fint* info, const char* key, Ierror ierror, Length length) {
    ierror = PMPI_Info_delete(from_fortran<MPI_Info>(*info), trimmed(key, length).c_str());
}

void pmpi_info_get_(const MPI_Fint* info, const char* key, const MPI_Fint* valuelen, char* value,
                    MPI_Fint* flag, Ierror ierror, Length key_length, Length value_length) {
    char buffer[MPI_MAX_INFO_VAL + 1] = "";
    const int code = PMPI_Info_get(from_fortran<MPI_Info>(*info), trimmed(key, key_length).c_str(),
                                   std::clamp(*valuelen, 0, MPI_MAX_INFO_VAL), buffer, flag);
    ierror = code;
    if (code == MPI_SUCCESS && *flag != 0) fill(value, value_length, buffer);
}

void pmpi_info_get_string_(const MPI_Fint* info, const char* key, MPI_Fint* buflen, char* value,
                           MPI_Fint* flag, Ierror ierror, Length key_length, Length value_length) {
    char buffer[MPI_MAX_INFO_VAL + 1] = "";
    // C counts the null, Fortran has none.
    const bool wanted = *buflen > 0;
    int room = wanted ? std::min(*buflen, MPI_MAX_INFO_VAL) + 1 : 0;
    const int code = PMPI_Info_get_string(from_fortran<MPI_Info>(*info),
                                          trimmed(key, key_length).c_str(), &room, buffer, flag);
    ierror = code;
    if (code != MPI_SUCCESS || *flag == 0) return;
    *buflen = room - 1;
    if (wanted) fill(value, value_length, buffer);
}

void pmpi_info_get_valuelen_(const MPI_Fint* info, const char* key, MPI_Fint* valuelen,
                             MPI_Fint* flag, Ierror ierror, Length length) {
    ierror = PMPI_Info_get_valuelen(from_fortran<MPI_Info>(*info), trimmed(key, length).c_str(),
                                    valuelen, flag);
}

void pmpi_info_get_nthkey_(const MPI_Fint* info, const MPI_Fint* number, char* key, Ierror ierror,
                           Length length) {
    char buffer[MPI_MAX_INFO_KEY] = "";
    const int code = PMPI_Info_get_nthkey(from_fortran<MPI_Info>(*info), *number, buffer);
    ierror = code;
    if (code == MPI_SUCCESS) fill(key, length, buffer);
}
}

FORTRAN_NAME_F08(get_library_version)
FORTRAN_NAME_F08(get_processor_name)
FORTRAN_NAME_F08(error_string)
FORTRAN_NAME_F08(add_error_string)
FORTRAN_NAME_F08(comm_set_name)
FORTRAN_NAME_F08(comm_get_name)
FORTRAN_NAME_F08(type_set_name)
FORTRAN_NAME_F08(type_get_name)
FORTRAN_NAME_F08(win_set_name)
FORTRAN_NAME_F08(win_get_name)
FORTRAN_NAME(pack_external)
FORTRAN_NAME(unpack_external)
FORTRAN_NAME_F08(pack_external_size)
FORTRAN_NAME_F08(info_set)
FORTRAN_NAME_F08(info_delete)
FORTRAN_NAME_F08(info_get)
FORTRAN_NAME_F08(info_get_string)
FORTRAN_NAME_F08(info_get_valuelen)
FORTRAN_NAME_F08(info_get_nthkey)
