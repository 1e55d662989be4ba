// SPDX-License-Identifier: BSD-3-Clause
// QMP_comm_t: a group of nodes, its context, its topology, and the schedules of its collectives.
//
// Owned by the Library. Used by one thread at a time, as collectives require.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/group/group.h"
#include "job/front_ends.h"
#include "qmp/library.h"
#include "qmp/topology.h"

struct QMP_comm_struct {
    // `members` contains the machine rank of each node.
    QMP_comm_struct(torusmp::core::Runtime& runtime, std::vector<int> members,
                    torusmp::core::Context context, const torusmp::collectives::Policy& policy)
        : group(runtime, std::move(members), context, policy),
          allreduce(group),
          broadcast(group),
          alltoall(group) {}
    ~QMP_comm_struct() {
        if (mpi_comm != nullptr) torusmp::job::mpi_functions.free(mpi_comm);
    }
    QMP_comm_struct(const QMP_comm_struct&) = delete;
    QMP_comm_struct& operator=(const QMP_comm_struct&) = delete;

    torusmp::collectives::Group group;
    torusmp::collectives::Allreduce allreduce;
    torusmp::collectives::Broadcast broadcast;
    torusmp::collectives::Alltoall alltoall;
    std::optional<torusmp::qmp::Topology> topology;
    int colors = 1;
    int color = 0;
    int key = 0;
    void* mpi_comm = nullptr;  // the MPI_Comm of the same nodes, once requested
};

namespace torusmp::qmp {

// Ends the job, naming `call`, unless QMP is initialized and comm is not null.
QMP_comm_struct& checked(QMP_comm_t comm, std::string_view call);
// The default communicator, with the same checks.
QMP_comm_struct& default_comm(std::string_view call);
// The topology of the communicator; ends the job if none is declared.
const Topology& topology_of(QMP_comm_t comm, std::string_view call);

// Collective: see QMP_comm_split(). Null for a negative color.
QMP_comm_t split(QMP_comm_struct& comm, int color, int key, std::string_view call);

// Blocks until the schedule is complete. If it cannot complete, because a rank died or the ranks'
// calls differ, ends the job naming `call`; returns QMP_ERROR if the job continues without the dead
// ranks.
QMP_status_t finish(collectives::Schedule& schedule, std::string_view call);

// Whether the communicator has all ranks of the machine.
bool covers_machine(const QMP_comm_struct& comm);
// The machine's own torus, with coordinates that follow the cables. Precondition: covers_machine().
Topology machine_topology(const QMP_comm_struct& comm);

// The machine rank of each node of the allocated communicator, by flags and placement.
std::vector<int> deal_nodes(const Flags& flags, Placement placement, const routing::Torus& torus);

// See QMP_comm_declare_logical_topology_map().
QMP_status_t declare(QMP_comm_struct& comm, const int* dims, int ndim, const int* map, int mapdim,
                     std::string_view call);

}  // namespace torusmp::qmp
