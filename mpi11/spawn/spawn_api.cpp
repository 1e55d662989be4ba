// SPDX-License-Identifier: BSD-3-Clause
// Starting processes (MPI-5.0, section 11.8).
#include <algorithm>
#include <span>
#include <vector>

#include "mpi11/comm/creation.h"
#include "mpi11/spawn/children.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

int sum_of(std::span<const int> numbers) {
    int sum = 0;
    for (const int number : numbers)
        if (__builtin_add_overflow(sum, std::max(number, 0), &sum))
            fail(MPI_ERR_ARG, "the sum of array_of_maxprocs exceeds the range of int");
    return sum;
}

// Called on the root, read(processes) returns the commands; it sets the number of all processes
// first, which all members need for the error codes.
template <class Read>
int start_processes(const char* call, MPI_Comm from, int root, MPI_Comm* intercomm, int* errcodes,
                    Read&& read) {
    return api_for_new(call, from, "intercomm", intercomm, [&](Communicator& comm) -> MPI_Comm {
        check_intra(comm);
        check_root(comm, root);
        int processes = 0;
        const auto set_codes = [&](int code) {
            if (errcodes != MPI_ERRCODES_IGNORE) std::fill_n(errcodes, processes, code);
        };
        try {
            Communicator& made = join_through(
                comm, root, call, MPI_ERR_SPAWN,
                [&](const job::Process& job, std::vector<int> nodes) {
                    const std::vector<Command> commands = read(processes);
                    return arrange_children(commands, job, std::move(nodes));
                },
                &processes);
            set_codes(MPI_SUCCESS);
            return handle_of(made);
        } catch (const Failure& failure) {
            set_codes(failure.code());
            throw;
        }
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm* parent) {
    return api("MPI_Comm_get_parent", [&] {
        check_output("parent", parent);
        *parent = handle_or_null(library().parent);
    });
}

#pragma weak MPI_Comm_spawn = PMPI_Comm_spawn
int PMPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                    MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
    return start_processes("MPI_Comm_spawn", comm, root, intercomm, array_of_errcodes,
                           [&](int& processes) {
                               processes = std::max(maxprocs, 0);
                               return std::vector{read_command(command, argv, maxprocs, info)};
                           });
}

#pragma weak MPI_Comm_spawn_multiple = PMPI_Comm_spawn_multiple
int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                             const int array_of_maxprocs[], const MPI_Info array_of_info[],
                             int root, MPI_Comm comm, MPI_Comm* intercomm,
                             int array_of_errcodes[]) {
    return start_processes(
        "MPI_Comm_spawn_multiple", comm, root, intercomm, array_of_errcodes, [&](int& processes) {
            if (count < 1) fail(MPI_ERR_ARG, "found count {}, expected 1 or more", count);
            check_output("array_of_commands", array_of_commands);
            check_output("array_of_maxprocs", array_of_maxprocs);
            check_output("array_of_info", array_of_info);
            processes = sum_of({array_of_maxprocs, std::size_t(count)});
            std::vector<Command> commands;
            for (int i = 0; i < count; ++i)
                commands.push_back(
                    read_command(array_of_commands[i],
                                 array_of_argv == MPI_ARGVS_NULL ? MPI_ARGV_NULL : array_of_argv[i],
                                 array_of_maxprocs[i], array_of_info[i]));
            return commands;
        });
}
}
