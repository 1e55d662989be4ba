// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies (MPI-1.1, section 6.5). With reorder, neighbours in the grid become
// neighbours in the torus as far as routing supports it.
#include <algorithm>
#include <numeric>

#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"
#include "mpi11/topology/topology.h"
#include "routing/placement.h"

namespace torusmp::mpi {
namespace {

void check_dimensions(int ndims) {
    if (ndims < 0) fail(MPI_ERR_DIMS, "found {} dimensions, expected 0 or more", ndims);
}

// The grid of a call; at most as large as the communicator.
CartesianGrid checked_grid(const Communicator& comm, int ndims, const int dims[],
                           const int periods[]) {
    check_dimensions(ndims);
    if (ndims > 0) {
        check_output("dims", dims);
        check_output("periods", periods);
    }
    std::int64_t places = 1;
    for (int d = 0; d < ndims; ++d) {
        if (dims[d] < 1) fail(MPI_ERR_DIMS, "dims[{}] is {}, expected 1 or more", d, dims[d]);
        if (__builtin_mul_overflow(places, dims[d], &places) || places > comm.size())
            fail(MPI_ERR_DIMS, "found a grid with more positions than the {} ranks of {}",
                 comm.size(), comm.describe());
    }
    return CartesianGrid(std::vector<int>(dims, dims + ndims),
                         std::vector<bool>(periods, periods + ndims));
}

// The machine rank at each place.
std::vector<Rank> lay_out(const Communicator& comm, const CartesianGrid& grid, bool reorder) {
    if (reorder)
        return routing::place_grid({grid.extents(), grid.periods()}, comm.members(),
                                   comm.runtime().torus());
    return {comm.members().begin(), comm.members().begin() + grid.size()};
}

void check_room(int found, int needed, const char* what) {
    if (found < needed)
        fail(MPI_ERR_ARG, "found room for {} {}, expected room for at least {}", found, what,
             needed);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Dims_create = PMPI_Dims_create
int PMPI_Dims_create(int nnodes, int ndims, int dims[]) {
    return api("MPI_Dims_create", [&] {
        if (nnodes < 1) fail(MPI_ERR_ARG, "found {} nodes, expected 1 or more", nnodes);
        check_dimensions(ndims);
        if (ndims == 0) {
            if (nnodes > 1) fail(MPI_ERR_DIMS, "found no dimensions for {} nodes", nnodes);
            return;
        }
        check_output("dims", dims);
        const std::span extents(dims, std::size_t(ndims));
        for (int d = 0; d < ndims; ++d)
            if (dims[d] < 0) fail(MPI_ERR_DIMS, "dims[{}] is {}, expected 0 or more", d, dims[d]);
        if (!fill_dims(nnodes, extents, runtime().torus().extents()))
            fail(MPI_ERR_DIMS, "found dimensions {}, whose product does not divide {} nodes",
                 fmt::join(extents, " "), nnodes);
    });
}

#pragma weak MPI_Cart_create = PMPI_Cart_create
int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                     int reorder, MPI_Comm* comm_cart) {
    return api_for_new("MPI_Cart_create", comm_old, "comm_cart", comm_cart, [&](Communicator& c) {
        check_intra(c);
        const CartesianGrid grid = checked_grid(c, ndims, dims, periods);
        return make_with_topology(c, lay_out(c, grid, reorder != 0), grid, "MPI_Cart_create");
    });
}

#pragma weak MPI_Cart_map = PMPI_Cart_map
int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank) {
    return api("MPI_Cart_map", comm, [&](Communicator& c) {
        check_intra(c);
        check_output("newrank", newrank);
        const CartesianGrid grid = checked_grid(c, ndims, dims, periods);
        const int place = Members(lay_out(c, grid, true)).index_of(c.runtime().rank());
        *newrank = place < 0 ? MPI_UNDEFINED : place;
    });
}

#pragma weak MPI_Cartdim_get = PMPI_Cartdim_get
int PMPI_Cartdim_get(MPI_Comm comm, int* ndims) {
    return api("MPI_Cartdim_get", comm, [&](Communicator& c) {
        check_output("ndims", ndims);
        *ndims = cartesian_of(c).dimensions();
    });
}

#pragma weak MPI_Cart_get = PMPI_Cart_get
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
    return api("MPI_Cart_get", comm, [&](Communicator& c) {
        const CartesianGrid& grid = cartesian_of(c);
        check_room(maxdims, grid.dimensions(), "dimensions");
        if (grid.dimensions() == 0) return;
        check_output("dims", dims);
        check_output("periods", periods);
        check_output("coords", coords);
        for (int d = 0; d < grid.dimensions(); ++d) {
            dims[d] = grid.extent(d);
            periods[d] = grid.periodic(d) ? 1 : 0;
            coords[d] = grid.coordinate(c.rank(), d);
        }
    });
}

#pragma weak MPI_Cart_rank = PMPI_Cart_rank
int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int* rank) {
    return api("MPI_Cart_rank", comm, [&](Communicator& c) {
        const CartesianGrid& grid = cartesian_of(c);
        check_output("rank", rank);
        if (grid.dimensions() > 0) check_output("coords", coords);
        const std::span where(coords, std::size_t(grid.dimensions()));
        const auto found = grid.rank(where);
        if (!found)
            fail(MPI_ERR_ARG, "found coordinates {}, outside the grid {}", fmt::join(where, " "),
                 fmt::join(grid.extents(), "x"));
        *rank = *found;
    });
}

#pragma weak MPI_Cart_coords = PMPI_Cart_coords
int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
    return api("MPI_Cart_coords", comm, [&](Communicator& c) {
        const CartesianGrid& grid = cartesian_of(c);
        if (rank < 0 || rank >= c.size())
            fail(MPI_ERR_RANK, "found rank {}, expected 0 to {}", rank, c.size() - 1);
        check_room(maxdims, grid.dimensions(), "dimensions");
        if (grid.dimensions() > 0) check_output("coords", coords);
        for (int d = 0; d < grid.dimensions(); ++d) coords[d] = grid.coordinate(rank, d);
    });
}

#pragma weak MPI_Cart_shift = PMPI_Cart_shift
int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
    return api("MPI_Cart_shift", comm, [&](Communicator& c) {
        const CartesianGrid& grid = cartesian_of(c);
        check_output("rank_source", rank_source);
        check_output("rank_dest", rank_dest);
        if (direction < 0 || direction >= grid.dimensions())
            fail(MPI_ERR_ARG, "found dimension {} in a grid of {} dimensions (numbered from 0)",
                 direction, grid.dimensions());
        const std::int64_t steps = disp;
        *rank_source = grid.step(c.rank(), direction, -steps).value_or(MPI_PROC_NULL);
        *rank_dest = grid.step(c.rank(), direction, steps).value_or(MPI_PROC_NULL);
    });
}

#pragma weak MPI_Cart_sub = PMPI_Cart_sub
int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
    return api_for_new("MPI_Cart_sub", comm, "newcomm", newcomm, [&](Communicator& c) {
        const CartesianGrid& grid = cartesian_of(c);
        if (grid.dimensions() > 0) check_output("remain_dims", remain_dims);
        const std::vector<bool> kept(remain_dims, remain_dims + grid.dimensions());
        const CartesianGrid::Part own = grid.part(c.rank(), kept);
        // All members know the grid, so only the contexts have to be agreed on.
        std::vector<Rank> members(std::size_t(
            std::accumulate(own.extents.begin(), own.extents.end(), 1, std::multiplies<>())));
        for (int rank = 0; rank < grid.size(); ++rank) {
            const CartesianGrid::Part other = grid.part(rank, kept);
            if (other.color == own.color)
                members[std::size_t(other.rank)] = c.members()[std::size_t(rank)];
        }
        return make_with_topology(c, members, CartesianGrid(own.extents, own.periodic),
                                  "MPI_Cart_sub");
    });
}
}
