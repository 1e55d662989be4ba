// SPDX-License-Identifier: BSD-3-Clause
// Collectives with an array of types for each process, and graphs with weights.
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/exchange.h"

namespace torusmp::mpi {
namespace {

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
    extern "C" void pmpi_##lower##_(TYPED(Displacement), const MPI_Fint* comm, Ierror ierror) {    \
        ierror = exchange<PMPI_##Name>(partners, TYPED_NAMES, comm);                               \
    }                                                                                              \
    extern "C" void pmpi_##ilower##_(TYPED(Displacement), const MPI_Fint* comm, MPI_Fint* request, \
                                     Ierror ierror) {                                              \
        ierror =                                                                                   \
            exchange<PMPI_##IName>(partners, TYPED_NAMES, comm, Argument<MPI_Request*>(request));  \
    }                                                                                              \
    extern "C" void pmpi_##lower##_init_(TYPED(Displacement), const MPI_Fint* comm,                \
                                         const MPI_Fint* info, MPI_Fint* request, Ierror ierror) { \
        ierror =                                                                                   \
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
                             MPI_Fint* graph, Ierror ierror) {
    ierror = PMPI_Dist_graph_create(from_fortran<MPI_Comm>(*comm), *n, sources, degrees,
                                    destinations, c_weights(weights), from_fortran<MPI_Info>(*info),
                                    *reorder, Argument<MPI_Comm*>(graph).in_c());
}

void pmpi_dist_graph_create_adjacent_(const MPI_Fint* comm, const MPI_Fint* indegree,
                                      const MPI_Fint* sources, const MPI_Fint* source_weights,
                                      const MPI_Fint* outdegree, const MPI_Fint* destinations,
                                      const MPI_Fint* weights, const MPI_Fint* info,
                                      const MPI_Fint* reorder, MPI_Fint* graph, Ierror ierror) {
    ierror = PMPI_Dist_graph_create_adjacent(from_fortran<MPI_Comm>(*comm), *indegree, sources,
                                             c_weights(source_weights), *outdegree, destinations,
                                             c_weights(weights), from_fortran<MPI_Info>(*info),
                                             *reorder, Argument<MPI_Comm*>(graph).in_c());
}

void pmpi_dist_graph_neighbors_(const MPI_Fint* comm, const MPI_Fint* maxindegree,
                                MPI_Fint* sources, MPI_Fint* source_weights,
                                const MPI_Fint* maxoutdegree, MPI_Fint* destinations,
                                MPI_Fint* weights, Ierror ierror) {
    ierror = PMPI_Dist_graph_neighbors(from_fortran<MPI_Comm>(*comm), *maxindegree, sources,
                                       c_weights(source_weights), *maxoutdegree, destinations,
                                       c_weights(weights));
}
}

FORTRAN_NAME_F08(dist_graph_create)
FORTRAN_NAME_F08(dist_graph_create_adjacent)
FORTRAN_NAME_F08(dist_graph_neighbors)
