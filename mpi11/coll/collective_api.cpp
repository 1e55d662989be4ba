// SPDX-License-Identifier: BSD-3-Clause
// The functions that move data between all members: blocking, non-blocking, persistent.
#include "mpi11/coll/collective_calls.h"
#include "mpi11/coll/collective_entry.h"

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Barrier = PMPI_Barrier
int PMPI_Barrier(MPI_Comm comm) {
    return blocking("MPI_Barrier", comm, barrier);
}

#pragma weak MPI_Ibarrier = PMPI_Ibarrier
int PMPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Ibarrier", comm, request, barrier);
}

#pragma weak MPI_Barrier_init = PMPI_Barrier_init
int PMPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Barrier_init", comm, info, request, barrier);
}
}

TORUSMP_COLLECTIVE(Bcast, Ibcast, broadcast,
                   (void* buffer, Count count, MPI_Datatype datatype, int root), buffer, count,
                   datatype, root)

TORUSMP_COLLECTIVE(Gather, Igather, gather,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)

TORUSMP_COLLECTIVE(Gatherv, Igatherv, gatherv,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype,
                    int root),
                   sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root)

TORUSMP_COLLECTIVE(Scatter, Iscatter, scatter,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)

TORUSMP_COLLECTIVE(Scatterv, Iscatterv, scatterv,
                   (const void* sendbuf, const Count sendcounts[], const Displacement displs[],
                    MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                    int root),
                   sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root)

TORUSMP_COLLECTIVE(Allgather, Iallgather, allgather,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

TORUSMP_COLLECTIVE(Allgatherv, Iallgatherv, allgatherv,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype)

TORUSMP_COLLECTIVE(Alltoall, Ialltoall, alltoall,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

TORUSMP_COLLECTIVE(Alltoallv, Ialltoallv, alltoallv,
                   (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[],
                    MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[],
                    const Displacement rdispls[], MPI_Datatype recvtype),
                   sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)

TORUSMP_COLLECTIVE(Alltoallw, Ialltoallw, alltoallw,
                   (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[],
                    const MPI_Datatype sendtypes[], void* recvbuf, const Count recvcounts[],
                    const Displacement rdispls[], const MPI_Datatype recvtypes[]),
                   sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes)
