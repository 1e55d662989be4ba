// SPDX-License-Identifier: BSD-3-Clause
// Tests whether requests are complete, without ending them, and whether they were cancelled
// (MPI-4.1, sections 3.7.6 and 3.8.4). The error of a request is reported by the call that ends it.
#include "mpi11/pt2pt/request_calls.h"

namespace torusmp::mpi {
namespace {

// The array is not changed.
Batch asked(const char* call, int count, const MPI_Request handles[]) {
    return Batch(call, count, const_cast<MPI_Request*>(handles));
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Request_get_status = PMPI_Request_get_status
int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    return api_on("MPI_Request_get_status", &request, [&](Request* asked) {
        check_output("flag", flag);
        *flag = 1;
        if (asked == nullptr || !asked->active) return set_empty(status);
        *flag = test("MPI_Request_get_status", *asked, &request) ? 1 : 0;
        if (*flag != 0) set_known(*asked, status);
    });
}

#pragma weak MPI_Request_get_status_all = PMPI_Request_get_status_all
int PMPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                                MPI_Status array_of_statuses[]) {
    return api("MPI_Request_get_status_all", [&] {
        check_output("flag", flag);
        const Batch batch = asked("MPI_Request_get_status_all", count, array_of_requests);
        if (!batch.all_complete())
            runtime().progress_for("MPI_Request_get_status_all",
                                   AwaitedRequests(batch.handles(), false));
        *flag = batch.all_complete() ? 1 : 0;
        if (*flag == 0) return;
        for (std::size_t i = 0; i < batch.size(); ++i)
            batch.tell_known(i, status_of(array_of_statuses, i));
    });
}

#pragma weak MPI_Request_get_status_any = PMPI_Request_get_status_any
int PMPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int* index,
                                int* flag, MPI_Status* status) {
    return api("MPI_Request_get_status_any", [&] {
        check_output("index", index);
        check_output("flag", flag);
        const Batch batch = asked("MPI_Request_get_status_any", count, array_of_requests);
        *index = MPI_UNDEFINED;
        *flag = batch.any_active() ? 0 : 1;
        if (*flag != 0) return set_empty(status);
        if (batch.first_complete() == batch.size())
            runtime().progress_for("MPI_Request_get_status_any",
                                   AwaitedRequests(batch.handles(), true));
        const std::size_t found = batch.first_complete();
        if (found == batch.size()) return;
        *flag = 1;
        *index = int(found);
        batch.tell_known(found, status);
    });
}

#pragma weak MPI_Request_get_status_some = PMPI_Request_get_status_some
int PMPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount,
                                 int array_of_indices[], MPI_Status array_of_statuses[]) {
    return api("MPI_Request_get_status_some", [&] {
        check_output("outcount", outcount);
        const Batch batch = asked("MPI_Request_get_status_some", incount, array_of_requests);
        *outcount = MPI_UNDEFINED;
        if (!batch.any_active()) return;
        check_output("array_of_indices", array_of_indices);
        // Also if one is complete: it stays, and would hide the others forever.
        if (!batch.all_complete())
            runtime().progress_for("MPI_Request_get_status_some",
                                   AwaitedRequests(batch.handles(), true));
        *outcount = 0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (!batch.active(i) || !batch.complete(i)) continue;
            batch.tell_known(i, status_of(array_of_statuses, std::size_t(*outcount)));
            array_of_indices[(*outcount)++] = int(i);
        }
    });
}

#pragma weak MPI_Test_cancelled = PMPI_Test_cancelled
int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
    return api("MPI_Test_cancelled", [&] {
        check_output("status", status);
        check_output("flag", flag);
        *flag = cancelled(*status) ? 1 : 0;
    });
}

#pragma weak MPI_Status_set_cancelled = PMPI_Status_set_cancelled
int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
    return api("MPI_Status_set_cancelled", [&] {
        check_output("status", status);
        set_cancelled(*status, flag != 0);
    });
}
}
