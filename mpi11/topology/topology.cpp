// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/topology/topology.h"

#include <algorithm>

#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

Neighbourhood neighbours_in(const CartesianGrid& grid, int rank) {
    Neighbourhood found;
    for (int d = 0; d < grid.dimensions(); ++d)
        for (const int step : {-1, +1})
            found.sources.push_back(grid.step(rank, d, step).value_or(MPI_PROC_NULL));
    found.destinations = found.sources;
    return found;
}

Neighbourhood neighbours_in(const Graph& graph, int rank) {
    const auto list = graph.neighbours(rank);
    return {{list.begin(), list.end()}, {list.begin(), list.end()}};
}

Neighbourhood neighbours_in(const DistributedGraph& graph, int) {
    return {graph.sources, graph.destinations};
}

template <class Shape>
const Shape& expect(const Shape* shape, const Communicator& comm, const char* expected) {
    if (shape == nullptr)
        fail(MPI_ERR_TOPOLOGY, "found {}, which has {} topology, expected {}", comm.describe(),
             comm.topology == nullptr ? "no" : "another", expected);
    return *shape;
}

}  // namespace

Topology::Topology(Shape shape, int rank)
    : shape_(std::move(shape)),
      neighbourhood_(std::visit([&](const auto& it) { return neighbours_in(it, rank); }, shape_)) {}

const CartesianGrid& cartesian_of(const Communicator& comm) {
    return expect(comm.topology ? comm.topology->cartesian() : nullptr, comm, "a Cartesian one");
}
const Graph& graph_of(const Communicator& comm) {
    return expect(comm.topology ? comm.topology->graph() : nullptr, comm, "a graph");
}
const DistributedGraph& distributed_of(const Communicator& comm) {
    return expect(comm.topology ? comm.topology->distributed() : nullptr, comm,
                  "a distributed graph");
}
const Neighbourhood& neighbourhood_of(const Communicator& comm) {
    return expect(comm.topology ? &comm.topology->neighbourhood() : nullptr, comm, "one");
}

MPI_Comm make_with_topology(Communicator& from, const std::vector<Rank>& ranks,
                            Topology::Shape shape, const char* call) {
    Communicator* const comm = make_of_group(from, Members(ranks), call);
    if (comm == nullptr) return MPI_COMM_NULL;
    comm->topology = std::make_shared<const Topology>(std::move(shape), comm->rank());
    return handle_of(*comm);
}

std::vector<Rank> place_graph(const Communicator& comm, int vertices,
                              std::span<const routing::Traffic> edges) {
    const std::vector<Rank>& members = comm.members();
    const bool one_host = std::all_of(members.begin(), members.end(), [&](Rank rank) {
        const core::Inspection& state = comm.runtime().state();
        return state.host_of(rank) == state.host_of(members[0]);
    });
    if (one_host) return {members.begin(), members.begin() + vertices};
    return routing::place_graph(vertices, edges, members, comm.runtime().torus());
}

void check_intra(const Communicator& comm) {
    if (comm.inter())
        fail(MPI_ERR_COMM, "found {}, expected an intra-communicator", comm.describe());
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Topo_test = PMPI_Topo_test
int PMPI_Topo_test(MPI_Comm comm, int* status) {
    return api("MPI_Topo_test", comm, [&](Communicator& c) {
        check_output("status", status);
        const Topology* const topology = c.topology.get();
        *status = topology == nullptr     ? MPI_UNDEFINED
                  : topology->cartesian() ? MPI_CART
                  : topology->graph()     ? MPI_GRAPH
                                          : MPI_DIST_GRAPH;
    });
}
}
