// SPDX-License-Identifier: BSD-3-Clause
// Routines with CHARACTER arguments that concern processes which join a job: C refuses them
// (spawn/spawn_api.cpp), so nobody reads the arguments of the programs.
#include <string>
#include <vector>

#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"
#include "mpi11/fortran/text.h"

namespace torusmp::mpi {
namespace {

int* c_errcodes(MPI_Fint* errcodes) {
    return errcodes == &torusmp_ferrcodes_ ? MPI_ERRCODES_IGNORE : errcodes;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

void pmpi_comm_spawn_(const char* command, const char*, const MPI_Fint* maxprocs,
                      const MPI_Fint* info, const MPI_Fint* root, const MPI_Fint* comm,
                      MPI_Fint* intercomm, MPI_Fint* array_of_errcodes, Ierror ierror,
                      Length length, Length) {
    ierror = PMPI_Comm_spawn(
        trimmed(command, length).c_str(), MPI_ARGV_NULL, *maxprocs, from_fortran<MPI_Info>(*info),
        *root, from_fortran<MPI_Comm>(*comm), Argument<MPI_Comm*>(intercomm).in_c(),
        c_errcodes(array_of_errcodes));
}

// Only the root has arrays.
void pmpi_comm_spawn_multiple_(const MPI_Fint* count, const char* array_of_commands, const char*,
                               const MPI_Fint* array_of_maxprocs, const MPI_Fint* array_of_info,
                               const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* intercomm,
                               MPI_Fint* array_of_errcodes, Ierror ierror, Length length, Length) {
    int rank = -1;
    const auto in_c = from_fortran<MPI_Comm>(*comm);
    const bool is_root = PMPI_Comm_rank(in_c, &rank) == MPI_SUCCESS && rank == *root;
    const int programs = is_root && *count > 0 ? *count : 0;
    std::vector<std::string> texts;
    for (int i = 0; i < programs; ++i)
        texts.push_back(trimmed(array_of_commands + std::size_t(i) * length, length));
    std::vector<char*> commands;
    for (std::string& text : texts) commands.push_back(text.data());
    HandleArray<MPI_Info> infos(array_of_info, programs);
    ierror = PMPI_Comm_spawn_multiple(*count, commands.data(), MPI_ARGVS_NULL, array_of_maxprocs,
                                      infos.in_c(), *root, in_c,
                                      Argument<MPI_Comm*>(intercomm).in_c(),
                                      c_errcodes(array_of_errcodes));
}

void pmpi_comm_accept_(const char* port_name, const MPI_Fint* info, const MPI_Fint* root,
                       const MPI_Fint* comm, MPI_Fint* newcomm, Ierror ierror, Length length) {
    ierror = PMPI_Comm_accept(c_string(port_name, length).c_str(), from_fortran<MPI_Info>(*info),
                              *root, from_fortran<MPI_Comm>(*comm),
                              Argument<MPI_Comm*>(newcomm).in_c());
}

void pmpi_comm_connect_(const char* port_name, const MPI_Fint* info, const MPI_Fint* root,
                        const MPI_Fint* comm, MPI_Fint* newcomm, Ierror ierror, Length length) {
    ierror = PMPI_Comm_connect(c_string(port_name, length).c_str(), from_fortran<MPI_Info>(*info),
                               *root, from_fortran<MPI_Comm>(*comm),
                               Argument<MPI_Comm*>(newcomm).in_c());
}

void pmpi_open_port_(const MPI_Fint* info, char* port_name, Ierror ierror, Length length) {
    char name[MPI_MAX_PORT_NAME] = "";
    const int code = PMPI_Open_port(from_fortran<MPI_Info>(*info), name);
    ierror = code;
    if (code == MPI_SUCCESS) fill(port_name, length, name);
}

void pmpi_close_port_(const char* port_name, Ierror ierror, Length length) {
    ierror = PMPI_Close_port(c_string(port_name, length).c_str());
}

void pmpi_publish_name_(const char* service_name, const MPI_Fint* info, const char* port_name,
                        Ierror ierror, Length service_length, Length port_length) {
    ierror = PMPI_Publish_name(c_string(service_name, service_length).c_str(),
                               from_fortran<MPI_Info>(*info),
                               c_string(port_name, port_length).c_str());
}

void pmpi_unpublish_name_(const char* service_name, const MPI_Fint* info, const char* port_name,
                          Ierror ierror, Length service_length, Length port_length) {
    ierror = PMPI_Unpublish_name(c_string(service_name, service_length).c_str(),
                                 from_fortran<MPI_Info>(*info),
                                 c_string(port_name, port_length).c_str());
}

void pmpi_lookup_name_(const char* service_name, const MPI_Fint* info, char* port_name,
                       Ierror ierror, Length service_length, Length port_length) {
    char name[MPI_MAX_PORT_NAME] = "";
    const int code = PMPI_Lookup_name(c_string(service_name, service_length).c_str(),
                                      from_fortran<MPI_Info>(*info), name);
    ierror = code;
    if (code == MPI_SUCCESS) fill(port_name, port_length, name);
}
}

FORTRAN_NAME_F08(comm_spawn)
FORTRAN_NAME_F08(comm_spawn_multiple)
FORTRAN_NAME_F08(comm_accept)
FORTRAN_NAME_F08(comm_connect)
FORTRAN_NAME_F08(open_port)
FORTRAN_NAME_F08(close_port)
FORTRAN_NAME_F08(publish_name)
FORTRAN_NAME_F08(unpublish_name)
FORTRAN_NAME_F08(lookup_name)
