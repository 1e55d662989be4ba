// SPDX-License-Identifier: BSD-3-Clause
// Processes that join a running job, ports and names (MPI-5.0, sections 11.8 to 11.10): declared, so
// that programs that can do without them compile, and refused. A job has the processes that
// torus-run started, for its whole life.
#include <algorithm>
#include <string>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

constexpr const char* remedy =
    "a job has only the processes that torus-run started. Start all of them together; several "
    "programs: torus-run -np 2 a : -np 2 b";

void check_maxprocs(int maxprocs) {
    if (maxprocs < 0) fail(MPI_ERR_ARG, "found maxprocs {}, expected 0 or more", maxprocs);
}

// What the root has found in the arguments that count only there.
struct Asked {
    int error = MPI_SUCCESS;
    int processes = 0;
};

// arguments(): checks the root's arguments; returns the number of processes that they ask for.
template <class Arguments>
int refuse_spawn(const char* call, MPI_Comm from, int root, MPI_Comm* intercomm, int* errcodes,
                 Arguments&& arguments) {
    return api_for_new(call, from, "intercomm", intercomm, [&](Communicator& comm) -> MPI_Comm {
        check_intra(comm);
        check_root(comm, root);
        Asked asked;
        std::string mistake = fmt::format("rank {}, the root, has a wrong argument", root);
        if (comm.rank() == root) {
            try {
                asked.processes = arguments();
            } catch (const Failure& failure) {
                asked.error = failure.code();
                mistake = failure.text();
            }
        }
        broadcast_bytes(comm, &asked, sizeof asked, root, call);
        if (asked.error != MPI_SUCCESS) throw Failure(asked.error, mistake);
        if (errcodes != MPI_ERRCODES_IGNORE) std::fill_n(errcodes, asked.processes, MPI_ERR_SPAWN);
        fail(MPI_ERR_SPAWN, "cannot start processes ({} asked for): {}", asked.processes, remedy);
    });
}

int refuse_meeting(const char* call, const char* port_name, MPI_Info info, int root, MPI_Comm from,
                   MPI_Comm* newcomm) {
    return api_for_new(call, from, "newcomm", newcomm, [&](Communicator& comm) -> MPI_Comm {
        check_intra(comm);
        check_root(comm, root);
        if (comm.rank() == root) {
            check_output("port_name", port_name);
            entries_of(info);
        }
        fail(MPI_ERR_PORT, "no port is open: {}", remedy);
    });
}

int refuse_name(const char* call, int error, const char* service_name, MPI_Info info,
                const void* port_name) {
    return api(call, [&] {
        check_output("service_name", service_name);
        check_output("port_name", port_name);
        entries_of(info);
        fail(error, "there are no services, so none of the name \"{:.64}\": {}", service_name,
             remedy);
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

// True: torus-run started all.
#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm* parent) {
    return api("MPI_Comm_get_parent", [&] {
        check_output("parent", parent);
        *parent = MPI_COMM_NULL;
    });
}

#pragma weak MPI_Comm_spawn = PMPI_Comm_spawn
int PMPI_Comm_spawn(const char* command, char*[], int maxprocs, MPI_Info info, int root,
                    MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
    return refuse_spawn("MPI_Comm_spawn", comm, root, intercomm, array_of_errcodes, [&] {
        check_output("command", command);
        check_maxprocs(maxprocs);
        entries_of(info);
        return maxprocs;
    });
}

#pragma weak MPI_Comm_spawn_multiple = PMPI_Comm_spawn_multiple
int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char**[],
                             const int array_of_maxprocs[], const MPI_Info array_of_info[],
                             int root, MPI_Comm comm, MPI_Comm* intercomm,
                             int array_of_errcodes[]) {
    return refuse_spawn("MPI_Comm_spawn_multiple", comm, root, intercomm, array_of_errcodes, [&] {
        if (count < 1) fail(MPI_ERR_ARG, "found count {}, expected 1 or more", count);
        check_output("array_of_commands", array_of_commands);
        check_output("array_of_maxprocs", array_of_maxprocs);
        check_output("array_of_info", array_of_info);
        int processes = 0;
        for (int i = 0; i < count; ++i) {
            check_output("array_of_commands", array_of_commands[i]);
            check_maxprocs(array_of_maxprocs[i]);
            entries_of(array_of_info[i]);
            if (__builtin_add_overflow(processes, array_of_maxprocs[i], &processes))
                fail(MPI_ERR_ARG, "the sum of array_of_maxprocs is above the range of int");
        }
        return processes;
    });
}

#pragma weak MPI_Comm_accept = PMPI_Comm_accept
int PMPI_Comm_accept(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm* newcomm) {
    return refuse_meeting("MPI_Comm_accept", port_name, info, root, comm, newcomm);
}

#pragma weak MPI_Comm_connect = PMPI_Comm_connect
int PMPI_Comm_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                      MPI_Comm* newcomm) {
    return refuse_meeting("MPI_Comm_connect", port_name, info, root, comm, newcomm);
}

#pragma weak MPI_Comm_join = PMPI_Comm_join
int PMPI_Comm_join(int, MPI_Comm* intercomm) {
    if (intercomm != nullptr) *intercomm = MPI_COMM_NULL;
    return api("MPI_Comm_join", [&] {
        check_output("intercomm", intercomm);
        fail(MPI_ERR_UNSUPPORTED_OPERATION, "cannot join the process behind a socket: {}", remedy);
    });
}

#pragma weak MPI_Open_port = PMPI_Open_port
int PMPI_Open_port(MPI_Info info, char* port_name) {
    return api("MPI_Open_port", [&] {
        check_output("port_name", port_name);
        entries_of(info);
        fail(MPI_ERR_UNSUPPORTED_OPERATION, "cannot open a port: {}", remedy);
    });
}

#pragma weak MPI_Close_port = PMPI_Close_port
int PMPI_Close_port(const char* port_name) {
    return api("MPI_Close_port", [&] {
        check_output("port_name", port_name);
        fail(MPI_ERR_PORT, "no port is open: {}", remedy);
    });
}

#pragma weak MPI_Publish_name = PMPI_Publish_name
int PMPI_Publish_name(const char* service_name, MPI_Info info, const char* port_name) {
    return api("MPI_Publish_name", [&] {
        check_output("service_name", service_name);
        check_output("port_name", port_name);
        entries_of(info);
        fail(MPI_ERR_SERVICE, "cannot publish the name \"{:.64}\", as no port is open: {}",
             service_name, remedy);
    });
}

#pragma weak MPI_Unpublish_name = PMPI_Unpublish_name
int PMPI_Unpublish_name(const char* service_name, MPI_Info info, const char* port_name) {
    return refuse_name("MPI_Unpublish_name", MPI_ERR_SERVICE, service_name, info, port_name);
}

#pragma weak MPI_Lookup_name = PMPI_Lookup_name
int PMPI_Lookup_name(const char* service_name, MPI_Info info, char* port_name) {
    return refuse_name("MPI_Lookup_name", MPI_ERR_NAME, service_name, info, port_name);
}
}
