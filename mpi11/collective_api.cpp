// The functions for data that moves between all members: blocking, non-blocking, persistent.
#include "mpi11/collective_calls.h"

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

#pragma weak MPI_Bcast = PMPI_Bcast
int PMPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    return blocking("MPI_Bcast", comm, broadcast, buffer, count, datatype, root);
}

#pragma weak MPI_Ibcast = PMPI_Ibcast
int PMPI_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                MPI_Request* request) {
    return started("MPI_Ibcast", comm, request, broadcast, buffer, count, datatype, root);
}

#pragma weak MPI_Bcast_init = PMPI_Bcast_init
int PMPI_Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Bcast_init", comm, info, request, broadcast, buffer, count, datatype,
                      root);
}

#pragma weak MPI_Gather = PMPI_Gather
int PMPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return blocking("MPI_Gather", comm, gather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                    recvtype, root);
}

#pragma weak MPI_Igather = PMPI_Igather
int PMPI_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request* request) {
    return started("MPI_Igather", comm, request, gather, sendbuf, sendcount, sendtype, recvbuf,
                   recvcount, recvtype, root);
}

#pragma weak MPI_Gather_init = PMPI_Gather_init
int PMPI_Gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request) {
    return persistent("MPI_Gather_init", comm, info, request, gather, sendbuf, sendcount, sendtype,
                      recvbuf, recvcount, recvtype, root);
}

#pragma weak MPI_Gatherv = PMPI_Gatherv
int PMPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm) {
    return blocking("MPI_Gatherv", comm, gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                    displs, recvtype, root);
}

#pragma weak MPI_Igatherv = PMPI_Igatherv
int PMPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Igatherv", comm, request, gatherv, sendbuf, sendcount, sendtype, recvbuf,
                   recvcounts, displs, recvtype, root);
}

#pragma weak MPI_Gatherv_init = PMPI_Gatherv_init
int PMPI_Gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Gatherv_init", comm, info, request, gatherv, sendbuf, sendcount,
                      sendtype, recvbuf, recvcounts, displs, recvtype, root);
}

#pragma weak MPI_Scatter = PMPI_Scatter
int PMPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return blocking("MPI_Scatter", comm, scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                    recvtype, root);
}

#pragma weak MPI_Iscatter = PMPI_Iscatter
int PMPI_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request) {
    return started("MPI_Iscatter", comm, request, scatter, sendbuf, sendcount, sendtype, recvbuf,
                   recvcount, recvtype, root);
}

#pragma weak MPI_Scatter_init = PMPI_Scatter_init
int PMPI_Scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
    return persistent("MPI_Scatter_init", comm, info, request, scatter, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype, root);
}

#pragma weak MPI_Scatterv = PMPI_Scatterv
int PMPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm) {
    return blocking("MPI_Scatterv", comm, scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf,
                    recvcount, recvtype, root);
}

#pragma weak MPI_Iscatterv = PMPI_Iscatterv
int PMPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                   MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                   int root, MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iscatterv", comm, request, scatterv, sendbuf, sendcounts, displs, sendtype,
                   recvbuf, recvcount, recvtype, root);
}

#pragma weak MPI_Scatterv_init = PMPI_Scatterv_init
int PMPI_Scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[],
                       MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Scatterv_init", comm, info, request, scatterv, sendbuf, sendcounts,
                      displs, sendtype, recvbuf, recvcount, recvtype, root);
}

#pragma weak MPI_Allgather = PMPI_Allgather
int PMPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    return blocking("MPI_Allgather", comm, allgather, sendbuf, sendcount, sendtype, recvbuf,
                    recvcount, recvtype);
}

#pragma weak MPI_Iallgather = PMPI_Iallgather
int PMPI_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iallgather", comm, request, allgather, sendbuf, sendcount, sendtype,
                   recvbuf, recvcount, recvtype);
}

#pragma weak MPI_Allgather_init = PMPI_Allgather_init
int PMPI_Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
    return persistent("MPI_Allgather_init", comm, info, request, allgather, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype);
}

#pragma weak MPI_Allgatherv = PMPI_Allgatherv
int PMPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm) {
    return blocking("MPI_Allgatherv", comm, allgatherv, sendbuf, sendcount, sendtype, recvbuf,
                    recvcounts, displs, recvtype);
}

#pragma weak MPI_Iallgatherv = PMPI_Iallgatherv
int PMPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                     MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iallgatherv", comm, request, allgatherv, sendbuf, sendcount, sendtype,
                   recvbuf, recvcounts, displs, recvtype);
}

#pragma weak MPI_Allgatherv_init = PMPI_Allgatherv_init
int PMPI_Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                         MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Allgatherv_init", comm, info, request, allgatherv, sendbuf, sendcount,
                      sendtype, recvbuf, recvcounts, displs, recvtype);
}

#pragma weak MPI_Alltoall = PMPI_Alltoall
int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    return blocking("MPI_Alltoall", comm, alltoall, sendbuf, sendcount, sendtype, recvbuf,
                    recvcount, recvtype);
}

#pragma weak MPI_Ialltoall = PMPI_Ialltoall
int PMPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Ialltoall", comm, request, alltoall, sendbuf, sendcount, sendtype, recvbuf,
                   recvcount, recvtype);
}

#pragma weak MPI_Alltoall_init = PMPI_Alltoall_init
int PMPI_Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
    return persistent("MPI_Alltoall_init", comm, info, request, alltoall, sendbuf, sendcount,
                      sendtype, recvbuf, recvcount, recvtype);
}

#pragma weak MPI_Alltoallv = PMPI_Alltoallv
int PMPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
    return blocking("MPI_Alltoallv", comm, alltoallv, sendbuf, sendcounts, sdispls, sendtype,
                    recvbuf, recvcounts, rdispls, recvtype);
}

#pragma weak MPI_Ialltoallv = PMPI_Ialltoallv
int PMPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request* request) {
    return started("MPI_Ialltoallv", comm, request, alltoallv, sendbuf, sendcounts, sdispls,
                   sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

#pragma weak MPI_Alltoallv_init = PMPI_Alltoallv_init
int PMPI_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
    return persistent("MPI_Alltoallv_init", comm, info, request, alltoallv, sendbuf, sendcounts,
                      sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

#pragma weak MPI_Alltoallw = PMPI_Alltoallw
int PMPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
    return blocking("MPI_Alltoallw", comm, alltoallw, sendbuf, sendcounts, sdispls, sendtypes,
                    recvbuf, recvcounts, rdispls, recvtypes);
}

#pragma weak MPI_Ialltoallw = PMPI_Ialltoallw
int PMPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                    const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                    MPI_Request* request) {
    return started("MPI_Ialltoallw", comm, request, alltoallw, sendbuf, sendcounts, sdispls,
                   sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

#pragma weak MPI_Alltoallw_init = PMPI_Alltoallw_init
int PMPI_Alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                        const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                        const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Alltoallw_init", comm, info, request, alltoallw, sendbuf, sendcounts,
                      sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}
}
