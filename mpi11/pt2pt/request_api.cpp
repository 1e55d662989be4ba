// SPDX-License-Identifier: BSD-3-Clause
// Completion of requests, one or several at a time (MPI-1.1, sections 3.7.3 to 3.7.5, 3.8, 3.9).
#include "mpi11/ft/failures.h"
#include "mpi11/pt2pt/request_calls.h"

namespace torusmp::mpi {
namespace {

// `handles` contains all that the call waits for, for reports.
void wait_for(const Request& request, const char* call, std::span<const MPI_Request> handles) {
    const AwaitedRequests awaited(handles, false);
    runtime().wait_until([&] { return request.complete(); }, call, &awaited);
}

// The request, if it is a message of one block, as most are; otherwise null.
Request* find_plain(const MPI_Request* handle) {
    if (!hot.running || handle == nullptr) [[unlikely]]
        return nullptr;
    Request* const request = find<Request>(*handle);
    return request != nullptr && request->plain ? request : nullptr;
}

// Waits for the plain requests at the beginning, which often are all; returns the number of
// completed ones.
int finish_plain_ones(int count, MPI_Request* handles, MPI_Status* statuses) {
    for (int i = 0; i < count; ++i) {
        MPI_Status* const status =
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
        if (handles[i] == MPI_REQUEST_NULL) {
            set_empty(status);
            continue;
        }
        Request* const request = find<Request>(handles[i]);
        if (request == nullptr || !request->plain) return i;
        if (!request->complete()) wait_for(*request, "MPI_Waitall", {handles + i, handles + count});
        if (!finish_plain(*request, handles[i], status)) return i;
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    }
    return count;
}

// If one of several is completed, its error is the error of the call.
void finish_any(Batch& batch, std::size_t i, const char* call, int* index, MPI_Status* status,
                int& code) {
    *index = int(i);
    Request& request = checked<Request>(batch.handle(i));
    const Reference<Communicator> comm = request.comm;
    try {
        finish(request, batch.handle(i), status);
    } catch (const Failure& failure) {
        code = raise(call, comm.get(), failure);
    }
}

int finish_some(Batch& batch, int* outcount, int* indices, MPI_Status* statuses) {
    int done = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!batch.active(i) || !batch.complete(i)) continue;
        batch.finish_one(i, status_of(statuses, std::size_t(done)));
        indices[done++] = int(i);
    }
    *outcount = done;
    return batch.tell_errors();
}

void start_persistent(Request& request) {
    if (!request.persistent)
        fail(MPI_ERR_REQUEST, "found a request of {}, expected one of a persistent call",
             request.call);
    if (request.active)
        fail(MPI_ERR_REQUEST, "found a request of {} that is started and incomplete", request.call);
    check_not_revoked(*request.comm);
    start(request);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Wait = PMPI_Wait
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
    if (Request* const plain = find_plain(request)) [[likely]] {
        try {
            if (!plain->complete()) wait_for(*plain, plain->call, {request, 1});
        } catch (const std::exception& error) {
            return raise("MPI_Wait", plain->comm.get(), error);
        }
        if (finish_plain(*plain, *request, status)) return MPI_SUCCESS;
    }
    return api_on("MPI_Wait", request, [&](Request* waited) {
        if (waited == nullptr) return set_empty(status);
        if (waited->active) wait_for(*waited, waited->call, {request, 1});
        if (!finish_plain(*waited, *request, status)) finish(*waited, *request, status);
    });
}

#pragma weak MPI_Test = PMPI_Test
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return api_on("MPI_Test", request, [&](Request* tested) {
        check_output("flag", flag);
        *flag = 1;
        if (tested == nullptr) return set_empty(status);
        *flag = !tested->active || test("MPI_Test", *tested, request) ? 1 : 0;
        if (*flag != 0) finish(*tested, *request, status);
    });
}

#pragma weak MPI_Request_free = PMPI_Request_free
int PMPI_Request_free(MPI_Request* request) {
    return api_on("MPI_Request_free", request, [&](Request* freed) {
        if (freed == nullptr) fail(MPI_ERR_REQUEST, "found MPI_REQUEST_NULL");
        *request = MPI_REQUEST_NULL;
        abandon(*freed);
    });
}

#pragma weak MPI_Cancel = PMPI_Cancel
int PMPI_Cancel(MPI_Request* request) {
    return api_on("MPI_Cancel", request, [&](Request* cancelled) {
        if (cancelled == nullptr) fail(MPI_ERR_REQUEST, "found MPI_REQUEST_NULL");
        if (!cancelled->active)
            fail(MPI_ERR_REQUEST, "found a request of {} that was not started", cancelled->call);
        switch (cancelled->what) {
            case Request::What::receive:
                return cancelled->comm->runtime().cancel(cancelled->receive);
            case Request::What::send:
                return cancelled->comm->runtime().cancel(cancelled->send);
            case Request::What::work:
                return cancelled->work->cancel();
            case Request::What::nothing:
                return;  // already complete
        }
    });
}

#pragma weak MPI_Start = PMPI_Start
int PMPI_Start(MPI_Request* request) {
    return api_on("MPI_Start", request, [&](Request* started) {
        if (started == nullptr) fail(MPI_ERR_REQUEST, "found MPI_REQUEST_NULL");
        start_persistent(*started);
    });
}

#pragma weak MPI_Startall = PMPI_Startall
int PMPI_Startall(int count, MPI_Request array_of_requests[]) {
    return api("MPI_Startall", [&] {
        const Batch batch("MPI_Startall", count, array_of_requests);
        for (std::size_t i = 0; i < batch.size(); ++i)
            start_persistent(checked<Request>(batch.handle(i)));
    });
}

#pragma weak MPI_Waitall = PMPI_Waitall
int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
    return api("MPI_Waitall", [&] {
        check_count(count);
        if (count > 0) check_output("array_of_requests", array_of_requests);
        const int finished = finish_plain_ones(count, array_of_requests, array_of_statuses);
        if (finished == count) return MPI_SUCCESS;
        Batch batch("MPI_Waitall", count - finished, array_of_requests + finished);
        if (array_of_statuses != MPI_STATUSES_IGNORE) array_of_statuses += finished;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (batch.active(i))
                wait_for(*find<Request>(batch.handle(i)), "MPI_Waitall", batch.handles());
            batch.finish_one(i, status_of(array_of_statuses, i));
        }
        return batch.tell_errors();
    });
}

#pragma weak MPI_Testall = PMPI_Testall
int PMPI_Testall(int count, MPI_Request array_of_requests[], int* flag,
                 MPI_Status array_of_statuses[]) {
    return api("MPI_Testall", [&] {
        check_output("flag", flag);
        Batch batch("MPI_Testall", count, array_of_requests);
        if (!batch.all_complete())
            runtime().progress_for("MPI_Testall", AwaitedRequests(batch.handles(), false));
        *flag = batch.all_complete() ? 1 : 0;
        if (*flag == 0) return MPI_SUCCESS;
        for (std::size_t i = 0; i < batch.size(); ++i)
            batch.finish_one(i, status_of(array_of_statuses, i));
        return batch.tell_errors();
    });
}

#pragma weak MPI_Waitany = PMPI_Waitany
int PMPI_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
    return api("MPI_Waitany", [&] {
        check_output("index", index);
        Batch batch("MPI_Waitany", count, array_of_requests);
        int code = MPI_SUCCESS;
        if (!batch.any_active()) {
            *index = MPI_UNDEFINED;
            set_empty(status);
            return code;
        }
        std::size_t found = batch.first_complete();
        if (found == batch.size()) {
            const AwaitedRequests awaited(batch.handles(), true);
            runtime().wait_until([&] { return (found = batch.first_complete()) != batch.size(); },
                                 "MPI_Waitany", &awaited);
        }
        finish_any(batch, found, "MPI_Waitany", index, status, code);
        return code;
    });
}

#pragma weak MPI_Testany = PMPI_Testany
int PMPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
                 MPI_Status* status) {
    return api("MPI_Testany", [&] {
        check_output("index", index);
        check_output("flag", flag);
        Batch batch("MPI_Testany", count, array_of_requests);
        int code = MPI_SUCCESS;
        *index = MPI_UNDEFINED;
        *flag = batch.any_active() ? 0 : 1;
        if (*flag != 0) {
            set_empty(status);
            return code;
        }
        if (batch.first_complete() == batch.size())
            runtime().progress_for("MPI_Testany", AwaitedRequests(batch.handles(), true));
        const std::size_t found = batch.first_complete();
        if (found == batch.size()) return code;
        *flag = 1;
        finish_any(batch, found, "MPI_Testany", index, status, code);
        return code;
    });
}

#pragma weak MPI_Waitsome = PMPI_Waitsome
int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[]) {
    return api("MPI_Waitsome", [&] {
        check_output("outcount", outcount);
        Batch batch("MPI_Waitsome", incount, array_of_requests);
        if (!batch.any_active()) {
            *outcount = MPI_UNDEFINED;
            return MPI_SUCCESS;
        }
        check_output("array_of_indices", array_of_indices);
        if (batch.first_complete() == batch.size()) {
            const AwaitedRequests awaited(batch.handles(), true);
            runtime().wait_until([&] { return batch.first_complete() != batch.size(); },
                                 "MPI_Waitsome", &awaited);
        }
        return finish_some(batch, outcount, array_of_indices, array_of_statuses);
    });
}

#pragma weak MPI_Testsome = PMPI_Testsome
int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[]) {
    return api("MPI_Testsome", [&] {
        check_output("outcount", outcount);
        Batch batch("MPI_Testsome", incount, array_of_requests);
        if (!batch.any_active()) {
            *outcount = MPI_UNDEFINED;
            return MPI_SUCCESS;
        }
        check_output("array_of_indices", array_of_indices);
        if (batch.first_complete() == batch.size())
            runtime().progress_for("MPI_Testsome", AwaitedRequests(batch.handles(), true));
        return finish_some(batch, outcount, array_of_indices, array_of_statuses);
    });
}
}
