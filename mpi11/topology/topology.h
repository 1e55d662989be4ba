// SPDX-License-Identifier: BSD-3-Clause
// The virtual topology of a communicator: a Cartesian grid, a graph, or a graph of which each
// process knows its own part (MPI-1.1, chapter 6; MPI-2.2, section 7.5.4).
//
// Immutable and shared by communicators that are duplicates; any thread may read it.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "mpi11/comm/communicator.h"
#include "mpi11/topology/cartesian_grid.h"
#include "routing/placement.h"

namespace torusmp::mpi {

// The form of MPI_Graph_create: the neighbours of rank i are edges[index[i - 1]] to edges[index[i]
// - 1].
struct Graph {
    std::vector<int> index;
    std::vector<int> edges;
    std::span<const int> neighbours(int rank) const {
        const int begin = rank == 0 ? 0 : index[std::size_t(rank - 1)];
        return std::span(edges).subspan(std::size_t(begin),
                                        std::size_t(index[std::size_t(rank)] - begin));
    }
};

// The calling process's part. The weights are one per rank, or none if the graph is unweighted.
struct DistributedGraph {
    std::vector<int> sources, source_weights;
    std::vector<int> destinations, destination_weights;
    bool weighted = false;
};

// The partners of the calling process in neighbourhood collectives, in the standard's order;
// MPI_PROC_NULL at the edge of an open dimension.
struct Neighbourhood {
    std::vector<int> sources;
    std::vector<int> destinations;
};

class Topology {
  public:
    using Shape = std::variant<CartesianGrid, Graph, DistributedGraph>;
    // `rank` is the rank of the calling process.
    Topology(Shape shape, int rank);

    const CartesianGrid* cartesian() const { return std::get_if<CartesianGrid>(&shape_); }
    const Graph* graph() const { return std::get_if<Graph>(&shape_); }
    const DistributedGraph* distributed() const { return std::get_if<DistributedGraph>(&shape_); }
    const Neighbourhood& neighbourhood() const { return neighbourhood_; }

  private:
    Shape shape_;
    Neighbourhood neighbourhood_;
};

// The topology of a communicator; throws Failure with MPI_ERR_TOPOLOGY if it has none of that kind.
const CartesianGrid& cartesian_of(const Communicator& comm);
const Graph& graph_of(const Communicator& comm);
const DistributedGraph& distributed_of(const Communicator& comm);
const Neighbourhood& neighbourhood_of(const Communicator& comm);

// Collective over `from`. Makes a communicator whose rank i is the process on ranks[i], with that
// topology; returns MPI_COMM_NULL on processes that are not among them. For `call` see
// comm/creation.h.
MPI_Comm make_with_topology(Communicator& from, const std::vector<Rank>& ranks,
                            Topology::Shape shape, const char* call);

// A rank for each vertex of a graph, near its neighbours in the torus. Between processes of one
// host all distances are equal, so their order is kept. (Grids are reordered: their collectives run
// along the machine's dimensions, inside a host too.)
std::vector<Rank> place_graph(const Communicator& comm, int vertices,
                              std::span<const routing::Traffic> edges);

// Topologies are created on intra-communicators; throws Failure with MPI_ERR_COMM for others.
void check_intra(const Communicator& comm);

}  // namespace torusmp::mpi
