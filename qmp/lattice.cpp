// SPDX-License-Identifier: BSD-3-Clause
// QMP_layout_grid: a lattice divided over the nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "qmp/communicator.h"

namespace torusmp::qmp {
namespace {

// Largest first.
std::vector<int> prime_factors(int number) {
    std::vector<int> factors;
    for (int p = 2; p * p <= number; ++p)
        for (; number % p == 0; number /= p) factors.insert(factors.begin(), p);
    if (number > 1) factors.insert(factors.begin(), number);
    return factors;
}

// The dimension to split by `prime`: the longest that it divides. Among equally long ones the last
// that follows an unsplit one, so that splits concentrate in few dimensions. -1 if none.
int dimension_to_cut(const std::vector<int>& part, const std::vector<int>& nodes, int prime) {
    int best = -1;
    for (int d = 0; d < int(part.size()); ++d) {
        const auto i = std::size_t(d);
        const auto b = std::size_t(best);
        if (part[i] % prime != 0) continue;
        if (best < 0 || part[i] > part[b] || (part[i] == part[b] && nodes[b] == 1)) best = d;
    }
    return best;
}

// The grid of nodes for a lattice; empty if the number of nodes has factors that the lattice does
// not have.
std::vector<int> grid_for(std::vector<int> lattice, int nodes) {
    std::vector<int> grid(lattice.size(), 1);
    for (const int prime : prime_factors(nodes)) {
        const int d = dimension_to_cut(lattice, grid, prime);
        if (d < 0) return {};
        lattice[std::size_t(d)] /= prime;
        grid[std::size_t(d)] *= prime;
    }
    return grid;
}

QMP_status_t declare_grid(QMP_comm_struct& comm, const std::vector<int>& lattice,
                          const char* call) {
    Library& lib = library();
    const auto& job = lib.job->topology;
    std::vector<int> grid;
    if (lib.type != QMP_SWITCH && job) {
        grid = job->dims();
    } else {
        grid = grid_for(lattice, comm.group.size());
        if (grid.empty())
            return complain(QMP_ERROR, call,
                            fmt::format("found a lattice of {} for {} nodes, expected a lattice "
                                        "that is divisible by the prime factors of the number of "
                                        "nodes",
                                        fmt::join(lattice, " "), comm.group.size()));
    }
    return QMP_declare_logical_topology(grid.data(), int(grid.size()));
}

QMP_status_t layout(const int* dimensions, int ndims, const char* call) {
    QMP_comm_struct& comm = default_comm(call);
    if (dimensions == nullptr || ndims < 1)
        return complain(QMP_INVALID_ARG, call, "found no dimensions");
    std::vector<int> lattice(dimensions, dimensions + ndims);
    for (const int length : lattice)
        if (length < 1)
            return complain(QMP_INVALID_ARG, call,
                            fmt::format("found a lattice of {}, expected lengths of at least 1",
                                        fmt::join(lattice, " ")));
    if (!comm.topology) {
        const QMP_status_t status = declare_grid(comm, lattice, call);
        if (status != QMP_SUCCESS) return status;
    }

    const std::vector<int>& grid = comm.topology->dims();
    if (lattice.size() < grid.size())
        return complain(QMP_ERROR, call,
                        fmt::format("found a lattice of {} dimensions, expected at least the {} of "
                                    "the logical topology",
                                    lattice.size(), grid.size()));
    for (std::size_t d = 0; d < grid.size(); ++d) {
        if (lattice[d] % grid[d] != 0)
            return complain(
                QMP_ERROR, call,
                fmt::format("found a lattice of {}, expected one that the topology {} "
                            "divides",
                            fmt::join(dimensions, dimensions + ndims, " "), fmt::join(grid, " ")));
        lattice[d] /= grid[d];
    }
    library().subgrid = std::move(lattice);
    return QMP_SUCCESS;
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_status_t QMP_layout_grid(const int dimensions[], int ndims) {
    const char* const call = __func__;
    return guarded(call, [&] { return layout(dimensions, ndims, call); });
}

const int* QMP_get_subgrid_dimensions(void) {
    const auto& subgrid = running(__func__).subgrid;
    return subgrid.empty() ? nullptr : subgrid.data();
}

int QMP_get_number_of_subgrid_sites(void) {
    const auto& subgrid = running(__func__).subgrid;
    return subgrid.empty()
               ? 0
               : std::accumulate(subgrid.begin(), subgrid.end(), 1, std::multiplies<>());
}
}
