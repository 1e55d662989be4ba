// SPDX-License-Identifier: BSD-3-Clause
// Routines with CHARACTER arguments that concern processes which join. The arguments of a program
// are an array of strings, ended by an empty one; those of several programs a matrix, with a row
// for each.
#include <string>
#include <vector>

#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"
#include "mpi11/fortran/text.h"
#include "mpi11/mpi-ext.h"

namespace torusmp::mpi {
namespace {

// The arguments of one program: every `step`-th string, up to an empty one.
class Arguments {
  public:
    Arguments(const char* first, std::size_t length, std::size_t step) {
        if (first == nullptr) return;
        for (const char* at = first;; at += step * length) {
            std::string text = trimmed(at, length);
            if (text.empty()) break;
            texts_.push_back(std::move(text));
        }
        for (std::string& text : texts_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    Arguments(Arguments&&) = default;  // the strings stay where they are
    char** in_c() { return pointers_.empty() ? MPI_ARGV_NULL : pointers_.data(); }

  private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

int* c_errcodes(MPI_Fint* errcodes) {
    return errcodes == &torusmp_ferrcodes_ ? MPI_ERRCODES_IGNORE : errcodes;
}

bool is_root_of(MPI_Comm comm, int root) {
    int rank = -1;
    return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

// Only the root has strings.
void pmpi_comm_spawn_(const char* command, const char* argv, const MPI_Fint* maxprocs,
                      const MPI_Fint* info, const MPI_Fint* root, const MPI_Fint* comm,
                      MPI_Fint* intercomm, MPI_Fint* array_of_errcodes, Ierror ierror,
                      Length length, Length argument_length) {
    const auto in_c = from_fortran<MPI_Comm>(*comm);
    const bool is_root = is_root_of(in_c, *root);
    Arguments arguments(is_root && argv != &torusmp_fargv_ ? argv : nullptr, argument_length, 1);
    ierror = PMPI_Comm_spawn(is_root ? trimmed(command, length).c_str() : "", arguments.in_c(),
                             *maxprocs, from_fortran<MPI_Info>(*info), *root, in_c,
                             Argument<MPI_Comm*>(intercomm).in_c(), c_errcodes(array_of_errcodes));
}

void pmpi_comm_spawn_multiple_(const MPI_Fint* count, const char* array_of_commands,
                               const char* array_of_argv, const MPI_Fint* array_of_maxprocs,
                               const MPI_Fint* array_of_info, const MPI_Fint* root,
                               const MPI_Fint* comm, MPI_Fint* intercomm,
                               MPI_Fint* array_of_errcodes, Ierror ierror, Length length,
                               Length argument_length) {
    const auto in_c = from_fortran<MPI_Comm>(*comm);
    const int programs = is_root_of(in_c, *root) && *count > 0 ? *count : 0;
    std::vector<Arguments> arguments;
    for (int i = 0; i < programs; ++i)
        arguments.emplace_back(array_of_argv != &torusmp_fargvs_
                                   ? array_of_argv + std::size_t(i) * argument_length
                                   : nullptr,
                               argument_length, std::size_t(programs));
    std::vector<char**> argvs;
    for (Arguments& it : arguments) argvs.push_back(it.in_c());
    std::vector<std::string> texts;
    for (int i = 0; i < programs; ++i)
        texts.push_back(trimmed(array_of_commands + std::size_t(i) * length, length));
    std::vector<char*> commands;
    for (std::string& text : texts) commands.push_back(text.data());
    HandleArray<MPI_Info> infos(array_of_info, programs);
    ierror = PMPI_Comm_spawn_multiple(
        *count, commands.data(), argvs.data(), array_of_maxprocs, infos.in_c(), *root, in_c,
        Argument<MPI_Comm*>(intercomm).in_c(), c_errcodes(array_of_errcodes));
}

// A process that has taken a place has no strings.
void torusmp_replace_(const MPI_Fint* comm, const char* command, const char* argv,
                      const MPI_Fint* info, MPI_Fint* newcomm, Ierror ierror, Length length,
                      Length argument_length) {
    const auto in_c = from_fortran<MPI_Comm>(*comm);
    const bool takes_place = in_c == MPI_COMM_NULL;
    Arguments arguments(takes_place || argv == &torusmp_fargv_ ? nullptr : argv, argument_length,
                        1);
    ierror =
        torusmp_replace(in_c, takes_place ? "" : trimmed(command, length).c_str(), arguments.in_c(),
                        from_fortran<MPI_Info>(*info), Argument<MPI_Comm*>(newcomm).in_c());
}

void pmpi_comm_accept_(const char* port_name, const MPI_Fint* info, const MPI_Fint* root,
                       const MPI_Fint* comm, MPI_Fint* newcomm, Ierror ierror, Length length) {
    ierror =
        PMPI_Comm_accept(c_string(port_name, length).c_str(), from_fortran<MPI_Info>(*info), *root,
                         from_fortran<MPI_Comm>(*comm), Argument<MPI_Comm*>(newcomm).in_c());
}

void pmpi_comm_connect_(const char* port_name, const MPI_Fint* info, const MPI_Fint* root,
                        const MPI_Fint* comm, MPI_Fint* newcomm, Ierror ierror, Length length) {
    ierror =
        PMPI_Comm_connect(c_string(port_name, length).c_str(), from_fortran<MPI_Info>(*info), *root,
                          from_fortran<MPI_Comm>(*comm), Argument<MPI_Comm*>(newcomm).in_c());
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
    ierror =
        PMPI_Publish_name(c_string(service_name, service_length).c_str(),
                          from_fortran<MPI_Info>(*info), c_string(port_name, port_length).c_str());
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
FORTRAN_ALIAS(torusmp_replace_f08_, torusmp_replace_)
FORTRAN_NAME_F08(comm_accept)
FORTRAN_NAME_F08(comm_connect)
FORTRAN_NAME_F08(open_port)
FORTRAN_NAME_F08(close_port)
FORTRAN_NAME_F08(publish_name)
FORTRAN_NAME_F08(unpublish_name)
FORTRAN_NAME_F08(lookup_name)
