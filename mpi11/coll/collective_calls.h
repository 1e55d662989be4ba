// SPDX-License-Identifier: BSD-3-Clause
// Calls prepared from the arguments of the MPI functions, for all forms of these: one function for
// each collective, on intra- and inter-communicators. Each throws Failure for invalid arguments.
#pragma once

#include "mpi11/coll/collective.h"

namespace torusmp::mpi {

Call& barrier(Communicator& comm);
Call& broadcast(Communicator& comm, void* buffer, MPI_Count count, MPI_Datatype type, int root);

Call& gather(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
             void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root);
Call& gatherv(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
              void* receive, Numbers counts, Numbers displacements, MPI_Datatype receive_type,
              int root);
Call& scatter(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
              void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root);
Call& scatterv(Communicator& comm, const void* send, Numbers counts, Numbers displacements,
               MPI_Datatype send_type, void* receive, MPI_Count receive_count,
               MPI_Datatype receive_type, int root);

Call& allgather(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                void* receive, MPI_Count receive_count, MPI_Datatype receive_type);
Call& allgatherv(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                 void* receive, Numbers counts, Numbers displacements, MPI_Datatype receive_type);

Call& alltoall(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
               void* receive, MPI_Count receive_count, MPI_Datatype receive_type);
Call& alltoallv(Communicator& comm, const void* send, Numbers send_counts,
                Numbers send_displacements, MPI_Datatype send_type, void* receive,
                Numbers receive_counts, Numbers receive_displacements, MPI_Datatype receive_type);
Call& alltoallw(Communicator& comm, const void* send, Numbers send_counts,
                Numbers send_displacements, const MPI_Datatype send_types[], void* receive,
                Numbers receive_counts, Numbers receive_displacements,
                const MPI_Datatype receive_types[]);

Call& reduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
             MPI_Datatype type, MPI_Op op, int root);
Call& allreduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                MPI_Datatype type, MPI_Op op);
Call& reduce_scatter(Communicator& comm, const void* send, void* receive, Numbers counts,
                     MPI_Datatype type, MPI_Op op);
Call& reduce_scatter_block(Communicator& comm, const void* send, void* receive, MPI_Count count,
                           MPI_Datatype type, MPI_Op op);
Call& scan(Communicator& comm, const void* send, void* receive, MPI_Count count, MPI_Datatype type,
           MPI_Op op);
Call& exclusive_scan(Communicator& comm, const void* send, void* receive, MPI_Count count,
                     MPI_Datatype type, MPI_Op op);

// ---- between the two groups of an inter-communicator; blocks belong to the other group ----

Call& inter_barrier(Communicator& comm);
Call& inter_broadcast(Communicator& comm, void* buffer, MPI_Count count, MPI_Datatype type,
                      int root);
// `list` is used at the root (MPI_ROOT) only.
Call& inter_gather(Communicator& comm, const void* send, MPI_Count send_count,
                   MPI_Datatype send_type, const BlockList* list, int root);
Call& inter_scatter(Communicator& comm, const BlockList* list, void* receive,
                    MPI_Count receive_count, MPI_Datatype receive_type, int root);
Call& inter_allgather(Communicator& comm, const void* send, MPI_Count send_count,
                      MPI_Datatype send_type, const BlockList& list);
Call& inter_alltoall(Communicator& comm, const BlockList& send, const BlockList& receive);
Call& inter_reduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                   MPI_Datatype type, MPI_Op op, int root);
Call& inter_allreduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                      MPI_Datatype type, MPI_Op op);
// `counts` are those of the local group; without them, each member has `count`.
Call& inter_reduce_scatter(Communicator& comm, const void* send, void* receive, Numbers counts,
                           MPI_Count count, MPI_Datatype type, MPI_Op op);

}  // namespace torusmp::mpi
