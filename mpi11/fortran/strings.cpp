// SPDX-License-Identifier: BSD-3-Clause
// Routines with CHARACTER arguments. gfortran passes the length of each after all other arguments;
// a text has no null at its end and is padded with blanks.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "mpi11/fortran/arguments.h"

namespace torusmp::mpi {
namespace {

using Length = std::size_t;  // of a CHARACTER, since gfortran 8

// Blanks at the end are not part of the text.
std::string c_string(const char* text, Length length) {
    const std::string_view whole(text, length);
    const std::size_t last = whole.find_last_not_of(' ');
    return std::string(whole.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

// Keys and values of an info also lose their leading blanks (MPI-2.2, section 9).
std::string trimmed(const char* text, Length length) {
    std::string string = c_string(text, length);
    return string.erase(0, std::min(string.find_first_not_of(' '), string.size()));
}

// A longer value is truncated.
void fill(char* text, Length length, std::string_view value) {
    const std::size_t used = std::min(length, value.size());
    std::copy_n(value.data(), used, text);
    std::fill_n(text + used, length - used, ' ');
}

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

void pmpi_get_library_version_(char* version, MPI_Fint* resultlen, MPI_Fint* ierror,
                               Length length) {
    *ierror = fill_from<MPI_MAX_LIBRARY_VERSION_STRING>(version, resultlen, length,
                                                        PMPI_Get_library_version);
}

void pmpi_get_processor_name_(char* name, MPI_Fint* resultlen, MPI_Fint* ierror, Length length) {
    *ierror = fill_from<MPI_MAX_PROCESSOR_NAME>(name, resultlen, length, PMPI_Get_processor_name);
}

void pmpi_error_string_(const MPI_Fint* code, char* text, MPI_Fint* resultlen, MPI_Fint* ierror,
                        Length length) {
    *ierror = fill_from<MPI_MAX_ERROR_STRING>(
        text, resultlen, length,
        [&](char* buffer, int* found) { return PMPI_Error_string(*code, buffer, found); });
}

void pmpi_add_error_string_(const MPI_Fint* code, const char* text, MPI_Fint* ierror,
                            Length length) {
    *ierror = PMPI_Add_error_string(*code, c_string(text, length).c_str());
}

// ---- names of objects ----

void pmpi_comm_set_name_(const MPI_Fint* comm, const char* name, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Comm_set_name(from_fortran<MPI_Comm>(*comm), c_string(name, length).c_str());
}

void pmpi_comm_get_name_(const MPI_Fint* comm, char* name, MPI_Fint* resultlen, MPI_Fint* ierror,
                         Length length) {
    *ierror =
        fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
            return PMPI_Comm_get_name(from_fortran<MPI_Comm>(*comm), buffer, found);
        });
}

void pmpi_type_set_name_(const MPI_Fint* type, const char* name, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Type_set_name(from_fortran<MPI_Datatype>(*type), c_string(name, length).c_str());
}

void pmpi_type_get_name_(const MPI_Fint* type, char* name, MPI_Fint* resultlen, MPI_Fint* ierror,
                         Length length) {
    *ierror =
        fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
            return PMPI_Type_get_name(from_fortran<MPI_Datatype>(*type), buffer, found);
        });
}

void pmpi_win_set_name_(const MPI_Fint* win, const char* name, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Win_set_name(from_fortran<MPI_Win>(*win), c_string(name, length).c_str());
}

void pmpi_win_get_name_(const MPI_Fint* win, char* name, MPI_Fint* resultlen, MPI_Fint* ierror,
                        Length length) {
    *ierror =
        fill_from<MPI_MAX_OBJECT_NAME>(name, resultlen, length, [&](char* buffer, int* found) {
            return PMPI_Win_get_name(from_fortran<MPI_Win>(*win), buffer, found);
        });
}

// ---- external data ----

void pmpi_pack_external_(const char* datarep, void* inbuf, const MPI_Fint* incount,
                         const MPI_Fint* type, void* outbuf, const MPI_Aint* outsize,
                         MPI_Aint* position, MPI_Fint* ierror, Length length) {
    *ierror =
        PMPI_Pack_external(c_string(datarep, length).c_str(), c_buffer(inbuf), *incount,
                           from_fortran<MPI_Datatype>(*type), c_buffer(outbuf), *outsize, position);
}

void pmpi_unpack_external_(const char* datarep, void* inbuf, const MPI_Aint* insize,
                           MPI_Aint* position, void* outbuf, const MPI_Fint* outcount,
                           const MPI_Fint* type, MPI_Fint* ierror, Length length) {
    *ierror =
        PMPI_Unpack_external(c_string(datarep, length).c_str(), c_buffer(inbuf), *insize, position,
                             c_buffer(outbuf), *outcount, from_fortran<MPI_Datatype>(*type));
}

void pmpi_pack_external_size_(const char* datarep, const MPI_Fint* incount, const MPI_Fint* type,
                              MPI_Aint* size, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Pack_external_size(c_string(datarep, length).c_str(), *incount,
                                      from_fortran<MPI_Datatype>(*type), size);
}

// ---- infos ----

void pmpi_info_set_(const MPI_Fint* info, const char* key, const char* value, MPI_Fint* ierror,
                    Length key_length, Length value_length) {
    *ierror = PMPI_Info_set(from_fortran<MPI_Info>(*info), trimmed(key, key_length).c_str(),
                            trimmed(value, value_length).c_str());
}

void pmpi_info_delete_(const MPI_Fint* info, const char* key, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Info_delete(from_fortran<MPI_Info>(*info), trimmed(key, length).c_str());
}

void pmpi_info_get_(const MPI_Fint* info, const char* key, const MPI_Fint* valuelen, char* value,
                    MPI_Fint* flag, MPI_Fint* ierror, Length key_length, Length value_length) {
    char buffer[MPI_MAX_INFO_VAL + 1] = "";
    *ierror = PMPI_Info_get(from_fortran<MPI_Info>(*info), trimmed(key, key_length).c_str(),
                            std::clamp(*valuelen, 0, MPI_MAX_INFO_VAL), buffer, flag);
    if (*ierror == MPI_SUCCESS && *flag != 0) fill(value, value_length, buffer);
}

void pmpi_info_get_string_(const MPI_Fint* info, const char* key, MPI_Fint* buflen, char* value,
                           MPI_Fint* flag, MPI_Fint* ierror, Length key_length,
                           Length value_length) {
    char buffer[MPI_MAX_INFO_VAL + 1] = "";
    // C counts the null, Fortran has none.
    const bool wanted = *buflen > 0;
    int room = wanted ? std::min(*buflen, MPI_MAX_INFO_VAL) + 1 : 0;
    *ierror = PMPI_Info_get_string(from_fortran<MPI_Info>(*info), trimmed(key, key_length).c_str(),
                                   &room, buffer, flag);
    if (*ierror != MPI_SUCCESS || *flag == 0) return;
    *buflen = room - 1;
    if (wanted) fill(value, value_length, buffer);
}

void pmpi_info_get_valuelen_(const MPI_Fint* info, const char* key, MPI_Fint* valuelen,
                             MPI_Fint* flag, MPI_Fint* ierror, Length length) {
    *ierror = PMPI_Info_get_valuelen(from_fortran<MPI_Info>(*info), trimmed(key, length).c_str(),
                                     valuelen, flag);
}

void pmpi_info_get_nthkey_(const MPI_Fint* info, const MPI_Fint* number, char* key,
                           MPI_Fint* ierror, Length length) {
    char buffer[MPI_MAX_INFO_KEY] = "";
    *ierror = PMPI_Info_get_nthkey(from_fortran<MPI_Info>(*info), *number, buffer);
    if (*ierror == MPI_SUCCESS) fill(key, length, buffer);
}
}

FORTRAN_NAME(get_library_version)
FORTRAN_NAME(get_processor_name)
FORTRAN_NAME(error_string)
FORTRAN_NAME(add_error_string)
FORTRAN_NAME(comm_set_name)
FORTRAN_NAME(comm_get_name)
FORTRAN_NAME(type_set_name)
FORTRAN_NAME(type_get_name)
FORTRAN_NAME(win_set_name)
FORTRAN_NAME(win_get_name)
FORTRAN_NAME(pack_external)
FORTRAN_NAME(unpack_external)
FORTRAN_NAME(pack_external_size)
FORTRAN_NAME(info_set)
FORTRAN_NAME(info_delete)
FORTRAN_NAME(info_get)
FORTRAN_NAME(info_get_string)
FORTRAN_NAME(info_get_valuelen)
FORTRAN_NAME(info_get_nthkey)
