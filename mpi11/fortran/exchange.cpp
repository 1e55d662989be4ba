// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/fortran/exchange.h"

#include "mpi11/comm/communicator.h"

namespace torusmp::mpi {

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

}  // namespace torusmp::mpi
