// SPDX-License-Identifier: BSD-3-Clause
// Collectives with an array of types for each process, and graphs with weights.
#include "mpi11/comm/communicator.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"

namespace torusmp::mpi {
namespace {

// The number of types, to send and to receive; 0 if the call will refuse its arguments.
struct Partners {
    int out = 0, in = 0;
};

Partners everybody(MPI_Comm comm) {
    if (find<Communicator>(comm) == nullptr) return {};
    const int partners = find<Communicator>(comm)->remote_size();
    return {partners, partners};
}

Partners neighbours(MPI_Comm comm) {
    if (find<Communicator>(comm) == nullptr) return {};
    Partners partners;
    int kind = MPI_UNDEFINED, rank = 0, weighted = 0, dimensions = 0;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &dimensions);
        partners = {2 * dimensions, 2 * dimensions};
    } else if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &partners.in);
        partners.out = partners.in;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &partners.in, &partners.out, &weighted);
    }
    return partners;
}

// function(sends, counts, displacements, types, receives, counts, displacements, types, comm, ...)
template <auto function, class Displacement, class... More>
int exchange(Partners (*partners_of)(MPI_Comm), void* sendbuf, const MPI_Fint* sendcounts,
             const Displacement* sdispls, const MPI_Fint* sendtypes, void* recvbuf,
             const MPI_Fint* recvcounts, const Displacement* rdispls, const MPI_Fint* recvtypes,
             const MPI_Fint* comm, More&&... more) {
    const MPI_Comm in_c = from_fortran<MPI_Comm>(*comm);
    void* const sends = c_buffer(sendbuf);
    const Partners partners = partners_of(in_c);
    // With MPI_IN_PLACE there is nothing to read.
    HandleArray<MPI_Datatype> out(sendtypes, sends == MPI_IN_PLACE ? 0 : partners.out);
    HandleArray<MPI_Datatype> in(recvtypes, partners.in);
    return function(sends, sendcounts, sdispls, out.in_c(), c_buffer(recvbuf), recvcounts, rdispls,
                    in.in_c(), in_c, more.in_c()...);
}

const MPI_Fint* c_weights(const MPI_Fint* weights) {
    if (weights == &torusmp_funweighted_) return MPI_UNWEIGHTED;
    if (weights == &torusmp_fweightsempty_) return MPI_WEIGHTS_EMPTY;
    return weights;
}
MPI_Fint* c_weights(MPI_Fint* weights) {
    return const_cast<MPI_Fint*>(c_weights(static_cast<const MPI_Fint*>(weights)));
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

// Blocking, non-blocking and persistent.
#define EXCHANGES(Displacement, partners, lower, Name, ilower, IName)                              \
    extern "C" void pmpi_##lower##_(TYPED(Displacement), const MPI_Fint* comm, MPI_Fint* ierror) { \
        *ierror = exchange<PMPI_##Name>(partners, TYPED_NAMES, comm);                              \
    }                                                                                              \
    extern "C" void pmpi_##ilower##_(TYPED(Displacement), const MPI_Fint* comm, MPI_Fint* request, \
                                     MPI_Fint* ierror) {                                           \
        *ierror =                                                                                  \
            exchange<PMPI_##IName>(partners, TYPED_NAMES, comm, Argument<MPI_Request*>(request));  \
    }                                                                                              \
    extern "C" void pmpi_##lower##_init_(TYPED(Displacement), const MPI_Fint* comm,                \
                                         const MPI_Fint* info, MPI_Fint* request,                  \
                                         MPI_Fint* ierror) {                                       \
        *ierror =                                                                                  \
            exchange<PMPI_##Name##_init>(partners, TYPED_NAMES, comm, Argument<MPI_Info>(info),    \
                                         Argument<MPI_Request*>(request));                         \
    }                                                                                              \
    FORTRAN_NAME(lower)                                                                            \
    FORTRAN_NAME(ilower)                                                                           \
    FORTRAN_NAME(lower##_init)
#define TYPED(Displacement)                                                   \
    void *sendbuf, const MPI_Fint *sendcounts, const Displacement *sdispls,   \
        const MPI_Fint *sendtypes, void *recvbuf, const MPI_Fint *recvcounts, \
        const Displacement *rdispls, const MPI_Fint *recvtypes
#define TYPED_NAMES sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes

EXCHANGES(MPI_Fint, everybody, alltoallw, Alltoallw, ialltoallw, Ialltoallw)
EXCHANGES(MPI_Aint, neighbours, neighbor_alltoallw, Neighbor_alltoallw, ineighbor_alltoallw,
          Ineighbor_alltoallw)

// ---- weights of graphs ----

extern "C" {

void pmpi_dist_graph_create_(const MPI_Fint* comm, const MPI_Fint* n, const MPI_Fint* sources,
                             const MPI_Fint* degrees, const MPI_Fint* destinations,
                             const MPI_Fint* weights, const MPI_Fint* info, const MPI_Fint* reorder,
                             MPI_Fint* graph, MPI_Fint* ierror) {
    *ierror = PMPI_Dist_graph_create(
        from_fortran<MPI_Comm>(*comm), *n, sources, degrees, destinations, c_weights(weights),
        from_fortran<MPI_Info>(*info), *reorder, Argument<MPI_Comm*>(graph).in_c());
}

void pmpi_dist_graph_create_adjacent_(const MPI_Fint* comm, const MPI_Fint* indegree,
                                      const MPI_Fint* sources, const MPI_Fint* source_weights,
                                      const MPI_Fint* outdegree, const MPI_Fint* destinations,
                                      const MPI_Fint* weights, const MPI_Fint* info,
                                      const MPI_Fint* reorder, MPI_Fint* graph, MPI_Fint* ierror) {
    *ierror = PMPI_Dist_graph_create_adjacent(from_fortran<MPI_Comm>(*comm), *indegree, sources,
                                              c_weights(source_weights), *outdegree, destinations,
                                              c_weights(weights), from_fortran<MPI_Info>(*info),
                                              *reorder, Argument<MPI_Comm*>(graph).in_c());
}

void pmpi_dist_graph_neighbors_(const MPI_Fint* comm, const MPI_Fint* maxindegree,
                                MPI_Fint* sources, MPI_Fint* source_weights,
                                const MPI_Fint* maxoutdegree, MPI_Fint* destinations,
                                MPI_Fint* weights, MPI_Fint* ierror) {
    *ierror = PMPI_Dist_graph_neighbors(from_fortran<MPI_Comm>(*comm), *maxindegree, sources,
                                        c_weights(source_weights), *maxoutdegree, destinations,
                                        c_weights(weights));
}
}

FORTRAN_NAME(dist_graph_create)
FORTRAN_NAME(dist_graph_create_adjacent)
FORTRAN_NAME(dist_graph_neighbors)
