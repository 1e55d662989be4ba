// SPDX-License-Identifier: BSD-3-Clause
// The functions of partitioned messages (MPI-4.1, chapter 4).
#include "mpi11/entry.h"
#include "mpi11/environment/info.h"
#include "mpi11/partitioned/receive.h"
#include "mpi11/partitioned/send.h"
#include "mpi11/pt2pt/request_calls.h"

namespace torusmp::mpi::partitioned {
namespace {

// Throws Failure for an invalid argument. Wildcards are not allowed at either end.
template <class Count>
Memory checked_memory(bool sends, const void* buf, int partitions, Count count, MPI_Datatype datatype, int peer,
                      int tag, const Communicator& comm, MPI_Info info) {
    if (partitions < 1)
        fail(MPI_ERR_ARG, "found {} partitions, expected 1 or more", partitions);
    if (sends) check_dest(comm, peer);
    if (!sends && peer == MPI_ANY_SOURCE) fail(MPI_ERR_RANK, "found MPI_ANY_SOURCE");
    if (!sends && tag == MPI_ANY_TAG) fail(MPI_ERR_TAG, "found MPI_ANY_TAG");
    const Datatype& type = check_receive(buf, count, datatype, peer, tag, comm);
    check_send_tag(tag);
    MPI_Count total = 0, bytes = 0;
    if (__builtin_mul_overflow(MPI_Count(count), MPI_Count(partitions), &total) ||
        __builtin_mul_overflow(total, MPI_Count(type.size()), &bytes))
        wrong::total();
    entries_of(info);
    return {const_cast<void*>(buf), partitions, MPI_Count(count), type};
}

template <class End, class Count>
int init(const void* buf, int partitions, Count count, MPI_Datatype datatype, int peer, int tag,
         MPI_Comm handle, MPI_Info info, MPI_Request* request) {
    return api_with_request(End::call, handle, request, [&](Communicator& comm) {
        const Memory memory =
            checked_memory(std::is_same_v<End, Send>, buf, partitions, count, datatype, peer, tag,
                           comm, info);
        auto end = std::make_unique<End>(memory, comm, peer, tag);
        Request& made = make_request(*end, comm, true);
        end.release();  // now owned by the request
        made.peer = peer;
        made.tag = tag;
        *request = handle_of(made);
    });
}

// The end of a request, which has its name: no search for the type where each partition passes.
template <class End>
End& end_of(Request* request) {
    if (request == nullptr) fail(MPI_ERR_REQUEST, "found MPI_REQUEST_NULL");
    if (request->call != End::call)
        fail(MPI_ERR_REQUEST, "found a request of {}, expected one of {}", request->call,
             End::call);
    return static_cast<End&>(*request->work);
}

// mark(Send&) marks partitions.
template <class Mark>
int ready(const char* call, MPI_Request handle, Mark&& mark) {
    return api_on(call, &handle, [&](Request* request) {
        Send& send = end_of<Send>(request);
        if (!request->active) [[unlikely]]
            fail(MPI_ERR_REQUEST, "found a request of {} that is not started", Send::call);
        mark(send);
    });
}

}  // namespace
}  // namespace torusmp::mpi::partitioned

using namespace torusmp::mpi;
using partitioned::init;
using partitioned::Receive;
using partitioned::Send;

TORUSMP_ENTRIES(Psend_init,
                (const void* buf, int partitions, Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request),
                init<Send>(buf, partitions, count, datatype, dest, tag, comm, info, request))
TORUSMP_ENTRIES(Precv_init,
                (void* buf, int partitions, Count count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request),
                init<Receive>(buf, partitions, count, datatype, source, tag, comm, info, request))

extern "C" {

#pragma weak MPI_Pready = PMPI_Pready
int PMPI_Pready(int partition, MPI_Request request) {
    return partitioned::ready("MPI_Pready", request, [&](Send& send) { send.ready(partition); });
}

#pragma weak MPI_Pready_range = PMPI_Pready_range
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request) {
    return partitioned::ready("MPI_Pready_range", request, [&](Send& send) {
        if (partition_low < 0 || partition_low > partition_high ||
            partition_high >= send.partitions())
            fail(MPI_ERR_ARG, "found partitions {} to {}, expected a range from 0 to {}",
                 partition_low, partition_high, send.partitions() - 1);
        for (int p = partition_low; p <= partition_high; ++p) send.ready(p);
    });
}

#pragma weak MPI_Pready_list = PMPI_Pready_list
int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request) {
    return partitioned::ready("MPI_Pready_list", request, [&](Send& send) {
        if (length < 0) fail(MPI_ERR_ARG, "found length {}, expected 0 or more", length);
        if (length > 0) check_output("array_of_partitions", array_of_partitions);
        for (int i = 0; i < length; ++i) send.ready(array_of_partitions[i]);
    });
}

// A request that is not started has nothing left to arrive.
#pragma weak MPI_Parrived = PMPI_Parrived
int PMPI_Parrived(MPI_Request request, int partition, int* flag) {
    return api_on("MPI_Parrived", &request, [&](Request* found) {
        check_output("flag", flag);
        *flag = 1;
        if (found == nullptr) return;
        Receive& receive = partitioned::end_of<Receive>(found);
        if (!found->active) return;
        if (receive.arrived(partition)) return;
        receive.runtime().progress_for("MPI_Parrived", AwaitedRequests({&request, 1}, false));
        *flag = receive.arrived(partition) ? 1 : 0;
    });
}
}
