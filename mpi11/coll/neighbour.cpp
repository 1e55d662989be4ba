// SPDX-License-Identifier: BSD-3-Clause
// Collectives with the neighbours of a topology (MPI-4.1, section 8.6): the halo exchange.
//
// All messages of a call are in flight together. If two neighbours are the same process, as in a
// ring of two, the message sent to the negative side is received by that process from its positive
// side. Such a ring has two cables on the machine, and each message takes the cable of its side.
#include <optional>

#include "mpi11/coll/collective_entry.h"
#include "mpi11/pt2pt/exchange_call.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

// The direction of a Cartesian neighbour: 0 is the negative one of the first dimension, 1 the
// positive one, ...
constexpr int sign_of(int neighbour) {
    return neighbour % 2 == 0 ? -1 : +1;
}

// The cable to a Cartesian neighbour, if two cables lead there.
std::optional<routing::Direction> cable_to(const core::Runtime& runtime, Rank peer, int sign) {
    const routing::Torus& machine = runtime.torus();
    for (int d = 0; d < machine.dimensions(); ++d)
        if (machine.extent(d) == 2 && machine.periodic(d) &&
            machine.neighbour(runtime.rank(), {d, sign}) == peer)
            return routing::Direction{d, sign};
    return std::nullopt;
}

// Calls receive(i) for each source and send(i) for each destination, in the order in which messages
// between the same two processes have to match.
template <class Receive, class Send>
Call& exchange(Communicator& comm, const char* what, Receive&& receive, Send&& send) {
    const Neighbourhood& around = neighbourhood_of(comm);
    const bool cartesian = comm.topology->cartesian() != nullptr;
    Prepared<ExchangeCall> call(comm);
    call->prepare(what);
    for (std::size_t k = 0; k < around.sources.size(); ++k) {
        const std::size_t i = cartesian ? k ^ 1 : k;
        if (around.sources[i] != MPI_PROC_NULL)
            receive(call.get(), int(i), comm.peer(around.sources[i]));
    }
    for (std::size_t i = 0; i < around.destinations.size(); ++i) {
        if (around.destinations[i] == MPI_PROC_NULL) continue;
        const Rank peer = comm.peer(around.destinations[i]);
        send(call.get(), int(i), peer,
             cartesian ? cable_to(comm.runtime(), peer, sign_of(int(i))) : std::nullopt);
    }
    return call.done();
}

void send_block(ExchangeCall& call, const void* address, MPI_Count count, const Datatype& type,
                Rank peer, std::optional<routing::Direction> cable) {
    if (cable)
        call.send_over(address, count, type, *cable);
    else
        call.send(address, count, type, peer);
}

Call& allgather_with(Communicator& comm, const void* send, MPI_Count count, MPI_Datatype type,
                     const BlockList& in) {
    check_count(count);
    const Datatype& elements = committed(type);
    if (in_place(send))
        fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE, which neighbourhood collectives do not support");
    if (!neighbourhood_of(comm).destinations.empty()) check_buffer(send, count, elements);
    return exchange(
        comm, "neighbour allgather",
        [&](ExchangeCall& call, int i, Rank peer) {
            call.receive(in.address_of(i), in.count_of(i), in.type_of(i), peer);
        },
        [&](ExchangeCall& call, int, Rank peer, std::optional<routing::Direction> cable) {
            send_block(call, send, count, elements, peer, cable);
        });
}

Call& alltoall_with(Communicator& comm, const BlockList& out, const BlockList& in) {
    return exchange(
        comm, "neighbour alltoall",
        [&](ExchangeCall& call, int i, Rank peer) {
            call.receive(in.address_of(i), in.count_of(i), in.type_of(i), peer);
        },
        [&](ExchangeCall& call, int i, Rank peer, std::optional<routing::Direction> cable) {
            send_block(call, out.address_of(i), out.count_of(i), out.type_of(i), peer, cable);
        });
}

int sources_of(const Communicator& comm) {
    return int(neighbourhood_of(comm).sources.size());
}
int destinations_of(const Communicator& comm) {
    return int(neighbourhood_of(comm).destinations.size());
}

Call& neighbour_allgather(Communicator& comm, const void* send, MPI_Count send_count,
                          MPI_Datatype send_type, void* receive, MPI_Count receive_count,
                          MPI_Datatype receive_type) {
    return allgather_with(comm, send, send_count, send_type,
                          BlockList::even(receive, receive_count, receive_type, sources_of(comm)));
}

Call& neighbour_allgatherv(Communicator& comm, const void* send, MPI_Count send_count,
                           MPI_Datatype send_type, void* receive, Numbers counts,
                           Numbers displacements, MPI_Datatype receive_type) {
    return allgather_with(
        comm, send, send_count, send_type,
        BlockList::each(receive, counts, displacements, receive_type, sources_of(comm), "receive"));
}

Call& neighbour_alltoall(Communicator& comm, const void* send, MPI_Count send_count,
                         MPI_Datatype send_type, void* receive, MPI_Count receive_count,
                         MPI_Datatype receive_type) {
    return alltoall_with(comm, BlockList::even(send, send_count, send_type, destinations_of(comm)),
                         BlockList::even(receive, receive_count, receive_type, sources_of(comm)));
}

Call& neighbour_alltoallv(Communicator& comm, const void* send, Numbers send_counts,
                          Numbers send_displacements, MPI_Datatype send_type, void* receive,
                          Numbers receive_counts, Numbers receive_displacements,
                          MPI_Datatype receive_type) {
    return alltoall_with(comm,
                         BlockList::each(send, send_counts, send_displacements, send_type,
                                         destinations_of(comm), "send"),
                         BlockList::each(receive, receive_counts, receive_displacements,
                                         receive_type, sources_of(comm), "receive"));
}

Call& neighbour_alltoallw(Communicator& comm, const void* send, Numbers send_counts,
                          Numbers send_displacements, const MPI_Datatype send_types[],
                          void* receive, Numbers receive_counts, Numbers receive_displacements,
                          const MPI_Datatype receive_types[]) {
    return alltoall_with(comm,
                         BlockList::with_types(send, send_counts, send_displacements, send_types,
                                               destinations_of(comm), "send"),
                         BlockList::with_types(receive, receive_counts, receive_displacements,
                                               receive_types, sources_of(comm), "receive"));
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, neighbour_allgather,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

TORUSMP_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, neighbour_allgatherv,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype)

TORUSMP_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, neighbour_alltoall,
                   (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype),
                   sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

TORUSMP_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, neighbour_alltoallv,
                   (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[],
                    MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[],
                    const Displacement rdispls[], MPI_Datatype recvtype),
                   sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)

TORUSMP_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, neighbour_alltoallw,
                   (const void* sendbuf, const Count sendcounts[], const MPI_Aint sdispls[],
                    const MPI_Datatype sendtypes[], void* recvbuf, const Count recvcounts[],
                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
                   sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes)
