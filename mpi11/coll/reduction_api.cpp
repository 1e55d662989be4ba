// SPDX-License-Identifier: BSD-3-Clause
// The functions for reductions over all members: blocking, non-blocking, persistent.
#include "mpi11/coll/collective_calls.h"
#include "mpi11/coll/collective_entry.h"

TORUSMP_COLLECTIVE(Reduce, Ireduce, reduce,
                   (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op, int root),
                   sendbuf, recvbuf, count, datatype, op, root)

TORUSMP_COLLECTIVE(Allreduce, Iallreduce, allreduce,
                   (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op),
                   sendbuf, recvbuf, count, datatype, op)

TORUSMP_COLLECTIVE(Reduce_scatter, Ireduce_scatter, reduce_scatter,
                   (const void* sendbuf, void* recvbuf, const Count recvcounts[],
                    MPI_Datatype datatype, MPI_Op op),
                   sendbuf, recvbuf, recvcounts, datatype, op)

TORUSMP_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block,
                   (const void* sendbuf, void* recvbuf, Count recvcount, MPI_Datatype datatype,
                    MPI_Op op),
                   sendbuf, recvbuf, recvcount, datatype, op)

TORUSMP_COLLECTIVE(Scan, Iscan, scan,
                   (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op),
                   sendbuf, recvbuf, count, datatype, op)

TORUSMP_COLLECTIVE(Exscan, Iexscan, exclusive_scan,
                   (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op),
                   sendbuf, recvbuf, count, datatype, op)
