// SPDX-License-Identifier: BSD-3-Clause
// Places the grids of programs on the torus of the machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "qmp/communicator.h"
#include "routing/placement.h"

namespace torusmp::qmp {
namespace {

using routing::Dilation;
using routing::Grid;
using routing::Torus;

// Lengths from the slowest dimension to the fastest. With these, an embedding's row-major places
// are QMP's lexicographic node numbers.
std::vector<int> slow_to_fast(const std::vector<int>& dims, const std::vector<int>& map) {
    std::vector<int> lengths;
    for (std::size_t i = dims.size(); i-- > 0;)
        lengths.push_back(dims[map.empty() ? i : std::size_t(map[i])]);
    return lengths;
}

// The grid as used by routing: all dimensions of a logical topology wrap around.
Grid grid_of(const std::vector<int>& lengths) {
    return {lengths, std::vector<bool>(lengths.size(), true)};
}

Dilation measure(const std::vector<int>& lengths, const std::vector<int>& ranks,
                 const Torus& torus) {
    return routing::dilation_of(grid_of(lengths), ranks, torus);
}

// An order that brings neighbours closer than `ranks` does. Place 0 keeps its rank if possible, so
// that node 0 stays the rank that reads standard input. Empty if there is none.
std::optional<std::vector<int>> better(const std::vector<int>& lengths,
                                       const std::vector<int>& ranks, const Torus& torus) {
    return routing::place_closer(grid_of(lengths), ranks, torus, false);
}

std::string text_of(const Dilation& dilation) {
    return fmt::format("neighbours are up to {} links apart, {:.2f} on average", dilation.maximum,
                       dilation.average);
}

// Prints, on node 0 and if the user requested it, how the topology is placed and a better
// placement.
void print_placement(const QMP_comm_struct& comm, const std::vector<int>& lengths) {
    if (library().verbose.load() < 1 || comm.group.member() != 0 || !covers_machine(comm)) return;
    const Topology& topology = *comm.topology;
    const Torus& torus = comm.group.runtime().torus();
    std::vector<int> ranks(std::size_t(comm.group.size()));
    std::vector<int> coordinates(lengths.size());
    for (int node = 0; node < comm.group.size(); ++node) {
        topology.coordinates_of(node, coordinates.data());
        int place = 0;
        for (std::size_t i = lengths.size(); i-- > 0;) {
            const auto d = topology.map().empty() ? i : std::size_t(topology.map()[i]);
            place = place * topology.dims()[d] + coordinates[d];
        }
        ranks[std::size_t(place)] = comm.group.rank_of(node);
    }
    std::string text =
        fmt::format("topology {} on the machine {}: {}", fmt::join(topology.dims(), "x"),
                    torus.describe(), text_of(measure(lengths, ranks, torus)));
    if (const auto other = better(lengths, ranks, torus))
        text += fmt::format("; with -qmp-geom {} {}", fmt::join(topology.dims(), " "),
                            text_of(measure(lengths, *other, torus)));
    QMP_info("%s", text.c_str());
}

// Node at each place of the machine's own torus, first dimension fastest.
std::vector<int> native_order(const QMP_comm_struct& comm) {
    const Torus& torus = comm.group.runtime().torus();
    std::vector<int> node_of_rank(std::size_t(torus.size()));
    for (int node = 0; node < comm.group.size(); ++node)
        node_of_rank[std::size_t(comm.group.rank_of(node))] = node;
    std::vector<int> node_at;
    for (int place = 0; place < torus.size(); ++place) {
        routing::Coordinates c{};
        int rest = place;
        for (int d = 0; d < torus.dimensions(); rest /= torus.extent(d), ++d)
            c[std::size_t(d)] = rest % torus.extent(d);
        node_at.push_back(node_of_rank[std::size_t(torus.rank(c))]);
    }
    return node_at;
}

// Node at each lexicographic place, for QMP_PLACEMENT=declared; empty for the order of numbers.
std::vector<int> declared_order(const QMP_comm_struct& comm, const std::vector<int>& lengths) {
    const auto found = better(lengths, comm.group.members(), comm.group.runtime().torus());
    std::vector<int> node_at;
    if (!found) return node_at;
    std::vector<int> node_of_rank(found->size());
    for (int node = 0; node < comm.group.size(); ++node)
        node_of_rank[std::size_t(comm.group.rank_of(node))] = node;
    for (const int rank : *found) node_at.push_back(node_of_rank[std::size_t(rank)]);
    return node_at;
}

QMP_status_t check_grid(const QMP_comm_struct& comm, const std::vector<int>& dims,
                        std::string_view call) {
    long long product = 1;
    for (const int length : dims) {
        if (length < 1 || __builtin_mul_overflow(product, length, &product))
            return complain(QMP_INVALID_ARG, call,
                            fmt::format("found dimensions {}, expected lengths of at least 1",
                                        fmt::join(dims, " ")));
    }
    if (product == comm.group.size()) return QMP_SUCCESS;
    return complain(QMP_INVALID_ARG, call,
                    fmt::format("found dimensions {}, a grid of {} nodes, expected one of {}, the "
                                "nodes of the communicator",
                                fmt::join(dims, " "), product, comm.group.size()));
}

}  // namespace

bool covers_machine(const QMP_comm_struct& comm) {
    return comm.group.size() == comm.group.runtime().size();
}

Topology machine_topology(const QMP_comm_struct& comm) {
    const auto extents = comm.group.runtime().torus().extents();
    return {{extents.begin(), extents.end()}, {}, comm.group.member(), native_order(comm)};
}

std::vector<int> deal_nodes(const Flags& flags, Placement placement, const Torus& torus) {
    std::vector<int> ranks(std::size_t(flags.processes.value_or(torus.size())));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (flags.geometry.empty() || placement == Placement::rank || int(ranks.size()) != torus.size())
        return ranks;
    return better(slow_to_fast(flags.geometry, flags.allocated_map), ranks, torus).value_or(ranks);
}

QMP_status_t declare(QMP_comm_struct& comm, const int* dims, int ndim, const int* map, int mapdim,
                     std::string_view call) {
    if (ndim == 0) return QMP_SUCCESS;
    if (ndim < -1)
        return complain(QMP_INVALID_ARG, call,
                        fmt::format("found {} dimensions, expected -1 and more", ndim));
    if (comm.topology)
        fail(call, fmt::format("the communicator already has a topology, {}",
                               fmt::join(comm.topology->dims(), " ")));
    const int node = comm.group.member();
    if (ndim == -1) {
        if (!covers_machine(comm))
            return complain(QMP_INVALID_TOPOLOGY, call,
                            fmt::format("found the machine's topology requested for {} of {} "
                                        "nodes, expected all nodes",
                                        comm.group.size(), comm.group.runtime().size()));
        comm.topology = machine_topology(comm);
        return QMP_SUCCESS;
    }
    if (dims == nullptr) return complain(QMP_INVALID_ARG, call, "found null dimensions");
    if (mapdim < 0 || (mapdim > 0) != (map != nullptr))
        return complain(
            QMP_INVALID_ARG, call,
            fmt::format("found a {} map of {} entries", map ? "non-null" : "null", mapdim));
    const std::vector<int> lengths(dims, dims + ndim);
    const std::vector<int> order(map, map + mapdim);
    if (!order.empty() && (mapdim != ndim || !is_permutation(order)))
        return complain(QMP_INVALID_ARG, call,
                        fmt::format("found the map {}, expected each of 0 to {} once",
                                    fmt::join(order, " "), ndim - 1));
    if (const QMP_status_t status = check_grid(comm, lengths, call); status != QMP_SUCCESS)
        return status;

    std::vector<int> node_at;
    if (order.empty() && library().placement == Placement::declared && covers_machine(comm))
        node_at = declared_order(comm, slow_to_fast(lengths, order));
    comm.topology.emplace(lengths, order, node, std::move(node_at));
    print_placement(comm, slow_to_fast(lengths, order));
    return QMP_SUCCESS;
}

}  // namespace torusmp::qmp
