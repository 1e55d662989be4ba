// SPDX-License-Identifier: BSD-3-Clause
// Groups of which only the leaders have a communicator in common: their members join.
#pragma once

#include "mpi11/comm/communicator.h"
#include "mpi11/spawn/joined.h"

namespace torusmp::mpi {

// Leads from one leader to the other, as a machine rank of the job in which both are.
struct WayToLeader {
    core::Runtime& runtime;
    Context context;
    Rank other;
    int tag;
};

// Collective over both groups. `way` is null except on the leader. Throws Failure.
Communicator& join_over_leaders(Communicator& local, int leader, const WayToLeader* way,
                                const char* call);

}  // namespace torusmp::mpi
