// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies (MPI-1.1, section 6.5.3). With reorder, processes that are neighbours in the
// graph are placed near each other in the torus.
#include <algorithm>

#include "mpi11/comm/creation.h"
#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

Graph checked_graph(const Communicator& comm, int nnodes, const int index[], const int edges[]) {
    if (nnodes < 0 || nnodes > comm.size())
        fail(MPI_ERR_ARG, "found {} nodes, expected 0 to {}, the ranks of {}", nnodes, comm.size(),
             comm.describe());
    if (nnodes == 0) return {};
    check_output("index", index);
    int before = 0;
    for (int i = 0; i < nnodes; before = index[i++])
        if (index[i] < before)
            fail(MPI_ERR_ARG,
                 "index[{}] is {}, expected {} or more, because the entries are "
                 "cumulative",
                 i, index[i], before);
    if (before > 0) check_output("edges", edges);
    for (int i = 0; i < before; ++i)
        if (edges[i] < 0 || edges[i] >= nnodes)
            fail(MPI_ERR_ARG, "edges[{}] is {}, expected 0 to {}", i, edges[i], nnodes - 1);
    return {{index, index + nnodes}, {edges, edges + before}};
}

// The machine rank of each node.
std::vector<Rank> lay_out(const Communicator& comm, const Graph& graph, bool reorder) {
    const int nodes = int(graph.index.size());
    if (!reorder) return {comm.members().begin(), comm.members().begin() + nodes};
    std::vector<routing::Traffic> edges;
    for (int node = 0; node < nodes; ++node)
        for (const int other : graph.neighbours(node)) edges.push_back({node, other});
    return place_graph(comm, nodes, edges);
}

std::span<const int> checked_neighbours(const Communicator& comm, int rank) {
    const Graph& graph = graph_of(comm);
    if (rank < 0 || rank >= comm.size())
        fail(MPI_ERR_RANK, "found rank {}, expected 0 to {}", rank, comm.size() - 1);
    return graph.neighbours(rank);
}

void check_room(int found, std::size_t needed, const char* what) {
    if (found < 0 || std::size_t(found) < needed)
        fail(MPI_ERR_ARG, "found room for {} {}, expected room for at least {}", found, what,
             needed);
}

void copy_out(std::span<const int> from, int* to, const char* name) {
    if (from.empty()) return;
    check_output(name, to);
    std::copy(from.begin(), from.end(), to);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Graph_create = PMPI_Graph_create
int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[],
                      int reorder, MPI_Comm* comm_graph) {
    return api_for_new("MPI_Graph_create", comm_old, "comm_graph", comm_graph,
                       [&](Communicator& c) {
                           check_intra(c);
                           const Graph graph = checked_graph(c, nnodes, index, edges);
                           return make_with_topology(c, lay_out(c, graph, reorder != 0), graph,
                                                     "MPI_Graph_create");
                       });
}

#pragma weak MPI_Graph_map = PMPI_Graph_map
int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank) {
    return api("MPI_Graph_map", comm, [&](Communicator& c) {
        check_intra(c);
        check_output("newrank", newrank);
        if (nnodes < 1) fail(MPI_ERR_ARG, "found {} nodes, expected 1 or more", nnodes);
        const Graph graph = checked_graph(c, nnodes, index, edges);
        const int node = Members(lay_out(c, graph, true)).index_of(c.runtime().rank());
        *newrank = node < 0 ? MPI_UNDEFINED : node;
    });
}

#pragma weak MPI_Graphdims_get = PMPI_Graphdims_get
int PMPI_Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) {
    return api("MPI_Graphdims_get", comm, [&](Communicator& c) {
        const Graph& graph = graph_of(c);
        check_output("nnodes", nnodes);
        check_output("nedges", nedges);
        *nnodes = int(graph.index.size());
        *nedges = int(graph.edges.size());
    });
}

#pragma weak MPI_Graph_get = PMPI_Graph_get
int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]) {
    return api("MPI_Graph_get", comm, [&](Communicator& c) {
        const Graph& graph = graph_of(c);
        check_room(maxindex, graph.index.size(), "nodes");
        check_room(maxedges, graph.edges.size(), "edges");
        copy_out(graph.index, index, "index");
        copy_out(graph.edges, edges, "edges");
    });
}

#pragma weak MPI_Graph_neighbors_count = PMPI_Graph_neighbors_count
int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) {
    return api("MPI_Graph_neighbors_count", comm, [&](Communicator& c) {
        const auto neighbours = checked_neighbours(c, rank);
        check_output("nneighbors", nneighbors);
        *nneighbors = int(neighbours.size());
    });
}

#pragma weak MPI_Graph_neighbors = PMPI_Graph_neighbors
int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
    return api("MPI_Graph_neighbors", comm, [&](Communicator& c) {
        const auto neighbours = checked_neighbours(c, rank);
        check_room(maxneighbors, neighbours.size(), "neighbours");
        copy_out(neighbours, neighbors, "neighbors");
    });
}
}
