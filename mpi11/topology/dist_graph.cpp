// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies of which each process supplies a part (MPI-2.2, section 7.5.4).
//
// Processes that supply their own neighbours exchange only contexts, unless ranks may be reordered.
// Edges of any other processes are gathered on all processes: tables of the whole graph, as large
// as MPI_Graph_create requires of each caller.
#include <algorithm>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

constexpr const char* graph_call = "MPI_Dist_graph_create";
constexpr const char* adjacent_call = "MPI_Dist_graph_create_adjacent";

// A list of ranks with its weights, as an argument.
struct Ends {
    const char* name;
    int count;
    const int* ranks;
    const int* weights;
};

void check_ranks(const Communicator& comm, const Ends& ends) {
    if (ends.count < 0) fail(MPI_ERR_ARG, "found {} {}, expected 0 or more", ends.count, ends.name);
    if (ends.count > 0) check_output(ends.name, ends.ranks);
    for (int i = 0; i < ends.count; ++i)
        if (ends.ranks[i] < 0 || ends.ranks[i] >= comm.size())
            fail(MPI_ERR_RANK, "{}[{}] is {}, expected 0 to {}", ends.name, i, ends.ranks[i],
                 comm.size() - 1);
}

void check_weights(const Ends& ends) {
    if (ends.weights == MPI_UNWEIGHTED || ends.count == 0) return;
    if (ends.weights == nullptr || ends.weights == MPI_WEIGHTS_EMPTY)
        fail(MPI_ERR_ARG, "found no weights for {} {}", ends.count, ends.name);
    for (int i = 0; i < ends.count; ++i)
        if (ends.weights[i] < 0)
            fail(MPI_ERR_ARG, "weight {} of {} is {}, expected 0 or more", i, ends.name,
                 ends.weights[i]);
}

std::vector<int> ranks_of(const Ends& ends) {
    return {ends.ranks, ends.ranks + ends.count};
}
std::vector<int> weights_of(const Ends& ends, bool weighted) {
    if (!weighted || ends.count == 0) return {};
    return {ends.weights, ends.weights + ends.count};
}

// An edge of the whole graph.
struct Edge {
    int source, destination, weight;
};

// The part of one process.
DistributedGraph part_of(const std::vector<Edge>& edges, int rank, bool weighted) {
    DistributedGraph part;
    part.weighted = weighted;
    for (const Edge& edge : edges) {
        if (edge.destination == rank) {
            part.sources.push_back(edge.source);
            if (weighted) part.source_weights.push_back(edge.weight);
        }
        if (edge.source == rank) {
            part.destinations.push_back(edge.destination);
            if (weighted) part.destination_weights.push_back(edge.weight);
        }
    }
    return part;
}

std::vector<Rank> lay_out(const Communicator& comm, const std::vector<Edge>& edges) {
    std::vector<routing::Traffic> weighed;
    for (const Edge& edge : edges)
        weighed.push_back({edge.source, edge.destination, std::int64_t(edge.weight)});
    return place_graph(comm, comm.size(), weighed);
}

// The contribution of one process: whether it has weights, then its edges.
struct Gathered {
    std::vector<Edge> edges;
    bool weighted = true;
};

Gathered gather_edges(Communicator& comm, const std::vector<Edge>& own, bool weighted) {
    std::vector<int> list{weighted ? 1 : 0};
    for (const Edge& edge : own)
        list.insert(list.end(), {edge.source, edge.destination, edge.weight});
    std::vector<int> counts;
    const std::vector<int> all = gather_lists(comm, list, counts, graph_call);
    Gathered gathered;
    std::size_t at = 0;
    for (const int count : counts) {
        const std::size_t end = at + std::size_t(count);
        // Processes without edges do not count: they may not have had weights to pass.
        if (count > 1) gathered.weighted &= all[at] != 0;
        for (++at; at < end; at += 3) gathered.edges.push_back({all[at], all[at + 1], all[at + 2]});
    }
    if (gathered.edges.empty()) gathered.weighted = weighted;
    return gathered;
}

// The neighbours of another process that supplied its own, in the order in which it supplied them.
DistributedGraph unpack(const std::vector<int>& all, const std::vector<int>& counts, int rank) {
    std::size_t at = 0;
    for (int i = 0; i < rank; ++i) at += std::size_t(counts[std::size_t(i)]);
    const auto take = [&](std::size_t count) {
        const auto begin = all.begin() + std::ptrdiff_t(at);
        at += count;
        return std::vector<int>(begin, begin + std::ptrdiff_t(count));
    };
    const auto head = take(3);
    DistributedGraph part;
    part.weighted = head[2] != 0;
    const std::size_t in = std::size_t(head[0]), out = std::size_t(head[1]);
    part.sources = take(in);
    part.destinations = take(out);
    part.source_weights = take(part.weighted ? in : 0);
    part.destination_weights = take(part.weighted ? out : 0);
    return part;
}

std::vector<int> pack(const DistributedGraph& part) {
    std::vector<int> list{int(part.sources.size()), int(part.destinations.size()),
                          part.weighted ? 1 : 0};
    for (const auto* const one :
         {&part.sources, &part.destinations, &part.source_weights, &part.destination_weights})
        list.insert(list.end(), one->begin(), one->end());
    return list;
}

// Reorders the ranks and finds the part that belongs to this process's new rank.
std::vector<Rank> reorder_adjacent(Communicator& comm, DistributedGraph& part) {
    std::vector<int> counts;
    const std::vector<int> all = gather_lists(comm, pack(part), counts, adjacent_call);
    std::vector<Edge> edges;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const DistributedGraph other = unpack(all, counts, rank);
        for (std::size_t i = 0; i < other.destinations.size(); ++i)
            edges.push_back(
                {rank, other.destinations[i], other.weighted ? other.destination_weights[i] : 1});
    }
    std::vector<Rank> ranks = lay_out(comm, edges);
    part = unpack(all, counts, Members(ranks).index_of(comm.runtime().rank()));
    return ranks;
}

void copy_out(const std::vector<int>& from, int room, int* to, const char* name) {
    const std::size_t count = std::min(from.size(), std::size_t(room));
    if (count == 0) return;
    check_output(name, to);
    std::copy_n(from.begin(), count, to);
}

// Weights are not returned if the program or the graph has none.
void copy_weights(const std::vector<int>& from, int room, int* to, const char* name) {
    if (to != MPI_UNWEIGHTED && to != MPI_WEIGHTS_EMPTY) copy_out(from, room, to, name);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Dist_graph_create_adjacent = PMPI_Dist_graph_create_adjacent
int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int* sourceweights, int outdegree,
                                    const int destinations[], const int* destweights, MPI_Info info,
                                    int reorder, MPI_Comm* comm_dist_graph) {
    return api_for_new(
        adjacent_call, comm_old, "comm_dist_graph", comm_dist_graph, [&](Communicator& c) {
            check_intra(c);
            const Ends in{"sources", indegree, sources, sourceweights};
            const Ends out{"destinations", outdegree, destinations, destweights};
            for (const Ends& ends : {in, out}) {
                check_ranks(c, ends);
                check_weights(ends);
            }
            if ((sourceweights == MPI_UNWEIGHTED) != (destweights == MPI_UNWEIGHTED))
                fail(MPI_ERR_ARG,
                     "found weights for only one of sources and destinations, expected weights "
                     "for both or neither");
            if (info != MPI_INFO_NULL) checked<Info>(info);
            DistributedGraph part;
            part.weighted = sourceweights != MPI_UNWEIGHTED;
            part.sources = ranks_of(in);
            part.source_weights = weights_of(in, part.weighted);
            part.destinations = ranks_of(out);
            part.destination_weights = weights_of(out, part.weighted);
            std::vector<Rank> ranks = c.members();
            if (reorder != 0) ranks = reorder_adjacent(c, part);
            return make_with_topology(c, ranks, std::move(part), adjacent_call);
        });
}

#pragma weak MPI_Dist_graph_create = PMPI_Dist_graph_create
int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                           const int destinations[], const int* weights, MPI_Info info, int reorder,
                           MPI_Comm* comm_dist_graph) {
    return api_for_new(
        graph_call, comm_old, "comm_dist_graph", comm_dist_graph, [&](Communicator& c) {
            check_intra(c);
            check_ranks(c, {"sources", n, sources, nullptr});
            if (n > 0) check_output("degrees", degrees);
            int total = 0;
            for (int i = 0; i < n; ++i)
                if (degrees[i] < 0 || __builtin_add_overflow(total, degrees[i], &total))
                    fail(MPI_ERR_ARG, "degrees[{}] is {}, expected 0 or more", i, degrees[i]);
            const Ends ends{"destinations", total, destinations, weights};
            check_ranks(c, ends);
            check_weights(ends);
            if (info != MPI_INFO_NULL) checked<Info>(info);

            const bool weighted = weights != MPI_UNWEIGHTED;
            std::vector<Edge> own;
            for (int i = 0, at = 0; i < n; ++i)
                for (int k = 0; k < degrees[i]; ++k, ++at)
                    own.push_back({sources[i], destinations[at], weighted ? weights[at] : 1});
            const Gathered all = gather_edges(c, own, weighted);
            const std::vector<Rank> ranks = reorder != 0 ? lay_out(c, all.edges) : c.members();
            const int rank = Members(ranks).index_of(c.runtime().rank());
            return make_with_topology(c, ranks, part_of(all.edges, rank, all.weighted), graph_call);
        });
}

#pragma weak MPI_Dist_graph_neighbors_count = PMPI_Dist_graph_neighbors_count
int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
    return api("MPI_Dist_graph_neighbors_count", comm, [&](Communicator& c) {
        const DistributedGraph& graph = distributed_of(c);
        check_output("indegree", indegree);
        check_output("outdegree", outdegree);
        check_output("weighted", weighted);
        *indegree = int(graph.sources.size());
        *outdegree = int(graph.destinations.size());
        *weighted = graph.weighted ? 1 : 0;
    });
}

#pragma weak MPI_Dist_graph_neighbors = PMPI_Dist_graph_neighbors
int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int* sourceweights,
                              int maxoutdegree, int destinations[], int* destweights) {
    return api("MPI_Dist_graph_neighbors", comm, [&](Communicator& c) {
        const DistributedGraph& graph = distributed_of(c);
        if (maxindegree < 0 || maxoutdegree < 0)
            fail(MPI_ERR_ARG, "found room for {} sources and {} destinations, expected 0 or more",
                 maxindegree, maxoutdegree);
        copy_out(graph.sources, maxindegree, sources, "sources");
        copy_weights(graph.source_weights, maxindegree, sourceweights, "sourceweights");
        copy_out(graph.destinations, maxoutdegree, destinations, "destinations");
        copy_weights(graph.destination_weights, maxoutdegree, destweights, "destweights");
    });
}
}
