// SPDX-License-Identifier: BSD-3-Clause
// Queries of the machine for programs (torusmp_mpi.h).
#include "config/geometry.h"
#include "core/transport/list.h"
#include "mpi11/torusmp_mpi.h"

#include <algorithm>

#include "config/network.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

const routing::Torus& machine() {
    return runtime().torus();
}

void check_room(int maxdims) {
    if (maxdims < machine().dimensions())
        fail(MPI_ERR_DIMS, "found room for {} dimensions, expected room for {}", maxdims,
             machine().dimensions());
}

Rank checked_peer(const Communicator& comm, int rank) {
    if (comm.world()->joined())
        fail(MPI_ERR_COMM,
             "found {}, whose processes belong to joined jobs, which do not share a torus",
             comm.describe());
    if (rank < 0 || rank >= comm.remote_size())
        fail(MPI_ERR_RANK, "found rank {}, expected 0 to {} in {}", rank, comm.remote_size() - 1,
             comm.describe());
    return comm.peer(rank);
}

// The device of a link that leaves this node according to [links]; empty if none is named.
std::string device_of(routing::Direction direction, Rank peer) {
    const config::Settings& settings = library().process->settings();
    if (settings[config::setting::dims].empty()) return "";
    const int node = node_of(settings, runtime().rank());
    return node_of(settings, peer) == node ? "" : config::link_device(settings, node, direction);
}

// The device or transport that carries messages over one link of this process.
std::string link_name(routing::Direction direction) {
    if (machine().extent(direction.dimension) == 1) return "self";
    const auto peer = machine().neighbour(runtime().rank(), direction);
    if (!peer) return "";
    if (std::string device = device_of(direction, *peer); !device.empty()) return device;
    // Ranks of one host have one connection, whatever links there are between them.
    for (const auto& connection : runtime().state().connections())
        if (connection.peer == *peer && (!connection.link || *connection.link == direction))
            return std::string(connection.transport);
    // Not yet opened, as always on the own host.
    return std::string(transport::transport_inside_host(library().process->settings()).name);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

int TORUSMP_Dimensions(int* ndims) {
    return api("TORUSMP_Dimensions", [&] {
        check_output("ndims", ndims);
        *ndims = machine().dimensions();
    });
}

int TORUSMP_Extents(int maxdims, int dims[], int periods[]) {
    return api("TORUSMP_Extents", [&] {
        check_room(maxdims);
        for (int d = 0; d < machine().dimensions(); ++d) {
            if (dims != nullptr) dims[d] = machine().extent(d);
            if (periods != nullptr) periods[d] = machine().periodic(d) ? 1 : 0;
        }
    });
}

int TORUSMP_Coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
    return api("TORUSMP_Coords", comm, [&](Communicator& c) {
        const auto where = machine().coordinates(checked_peer(c, rank));
        check_room(maxdims);
        check_output("coords", coords);
        std::copy_n(where.begin(), machine().dimensions(), coords);
    });
}

int TORUSMP_Hops(MPI_Comm comm, int rank, int* hops) {
    return api("TORUSMP_Hops", comm, [&](Communicator& c) {
        const Rank peer = checked_peer(c, rank);
        check_output("hops", hops);
        *hops = machine().distance(runtime().rank(), peer);
    });
}

int TORUSMP_Link(int dim, int direction, char* name, int* resultlen) {
    return api("TORUSMP_Link", [&] {
        if (dim < 0 || dim >= machine().dimensions())
            fail(MPI_ERR_DIMS, "found dimension {}, expected 0 to {}", dim,
                 machine().dimensions() - 1);
        if (direction != TORUSMP_MINUS && direction != TORUSMP_PLUS)
            fail(MPI_ERR_ARG, "found direction {}, expected TORUSMP_MINUS or TORUSMP_PLUS",
                 direction);
        check_output("name", name);
        check_output("resultlen", resultlen);
        std::string text = link_name({dim, direction == TORUSMP_PLUS ? +1 : -1});
        text.resize(std::min<std::size_t>(text.size(), TORUSMP_MAX_LINK_NAME - 1));
        std::copy_n(text.c_str(), text.size() + 1, name);
        *resultlen = int(text.size());
    });
}
}
