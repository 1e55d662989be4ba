// The functions for reductions over all members: blocking, non-blocking, persistent.
#include "mpi11/collective_calls.h"

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Reduce = PMPI_Reduce
int PMPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm) {
    return blocking("MPI_Reduce", comm, reduce, sendbuf, recvbuf, count, datatype, op, root);
}

#pragma weak MPI_Ireduce = PMPI_Ireduce
int PMPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                 int root, MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Ireduce", comm, request, reduce, sendbuf, recvbuf, count, datatype, op,
                   root);
}

#pragma weak MPI_Reduce_init = PMPI_Reduce_init
int PMPI_Reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                     MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Reduce_init", comm, info, request, reduce, sendbuf, recvbuf, count,
                      datatype, op, root);
}

#pragma weak MPI_Allreduce = PMPI_Allreduce
int PMPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm) {
    return blocking("MPI_Allreduce", comm, allreduce, sendbuf, recvbuf, count, datatype, op);
}

#pragma weak MPI_Iallreduce = PMPI_Iallreduce
int PMPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iallreduce", comm, request, allreduce, sendbuf, recvbuf, count, datatype,
                   op);
}

#pragma weak MPI_Allreduce_init = PMPI_Allreduce_init
int PMPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Allreduce_init", comm, info, request, allreduce, sendbuf, recvbuf, count,
                      datatype, op);
}

#pragma weak MPI_Reduce_scatter = PMPI_Reduce_scatter
int PMPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return blocking("MPI_Reduce_scatter", comm, reduce_scatter, sendbuf, recvbuf, recvcounts,
                    datatype, op);
}

#pragma weak MPI_Ireduce_scatter = PMPI_Ireduce_scatter
int PMPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Ireduce_scatter", comm, request, reduce_scatter, sendbuf, recvbuf,
                   recvcounts, datatype, op);
}

#pragma weak MPI_Reduce_scatter_init = PMPI_Reduce_scatter_init
int PMPI_Reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[],
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                             MPI_Request* request) {
    return persistent("MPI_Reduce_scatter_init", comm, info, request, reduce_scatter, sendbuf,
                      recvbuf, recvcounts, datatype, op);
}

#pragma weak MPI_Reduce_scatter_block = PMPI_Reduce_scatter_block
int PMPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    return blocking("MPI_Reduce_scatter_block", comm, reduce_scatter_block, sendbuf, recvbuf,
                    recvcount, datatype, op);
}

#pragma weak MPI_Ireduce_scatter_block = PMPI_Ireduce_scatter_block
int PMPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                               MPI_Request* request) {
    return started("MPI_Ireduce_scatter_block", comm, request, reduce_scatter_block, sendbuf,
                   recvbuf, recvcount, datatype, op);
}

#pragma weak MPI_Reduce_scatter_block_init = PMPI_Reduce_scatter_block_init
int PMPI_Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount,
                                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                   MPI_Request* request) {
    return persistent("MPI_Reduce_scatter_block_init", comm, info, request, reduce_scatter_block,
                      sendbuf, recvbuf, recvcount, datatype, op);
}

#pragma weak MPI_Scan = PMPI_Scan
int PMPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm) {
    return blocking("MPI_Scan", comm, scan, sendbuf, recvbuf, count, datatype, op);
}

#pragma weak MPI_Iscan = PMPI_Iscan
int PMPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iscan", comm, request, scan, sendbuf, recvbuf, count, datatype, op);
}

#pragma weak MPI_Scan_init = PMPI_Scan_init
int PMPI_Scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Scan_init", comm, info, request, scan, sendbuf, recvbuf, count, datatype,
                      op);
}

#pragma weak MPI_Exscan = PMPI_Exscan
int PMPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm) {
    return blocking("MPI_Exscan", comm, exclusive_scan, sendbuf, recvbuf, count, datatype, op);
}

#pragma weak MPI_Iexscan = PMPI_Iexscan
int PMPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm, MPI_Request* request) {
    return started("MPI_Iexscan", comm, request, exclusive_scan, sendbuf, recvbuf, count, datatype,
                   op);
}

#pragma weak MPI_Exscan_init = PMPI_Exscan_init
int PMPI_Exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent("MPI_Exscan_init", comm, info, request, exclusive_scan, sendbuf, recvbuf,
                      count, datatype, op);
}
}
