// SPDX-License-Identifier: BSD-3-Clause
// Completion of requests, one or several at a time (MPI-1.1, sections 3.7.3 to 3.7.5, 3.8, 3.9).
#include <span>

#include "mpi11/error/check.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

Request* find_request(MPI_Request handle) {
    return handle == MPI_REQUEST_NULL ? nullptr : &checked<Request>(handle);
}

bool is_active(MPI_Request handle) {
    const Request* const request = find_request(handle);
    return request != nullptr && request->active;
}

// The body of a function on one request: body(Request*), null for MPI_REQUEST_NULL. Errors go to
// the request's communicator, which lives until they are reported.
template <class Body>
int api_on(const char* call, MPI_Request* handle, Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    Reference<Communicator> comm;
    try {
        check_output("request", handle);
        Request* const request = find_request(*handle);
        if (request != nullptr) comm = request->comm;
        body(request);
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        return raise(call, comm.get(), error);
    }
}

void wait_for(const Request& request, const char* call) {
    runtime().wait_until([&] { return request.complete(); }, call);
}

// The request, if it is a message of one block, as most are; else null.
Request* find_plain(const MPI_Request* handle) {
    if (!hot.running || handle == nullptr) [[unlikely]]
        return nullptr;
    Request* const request = find<Request>(*handle);
    return request != nullptr && request->plain ? request : nullptr;
}

bool test(const Request& request) {
    if (request.complete()) return true;
    runtime().progress();
    return request.complete();
}

// --- several ---

class Batch {
  public:
    Batch(const char* call, int count, MPI_Request* handles) : call_(call) {
        check_count(count);
        if (count > 0) check_output("array_of_requests", handles);
        handles_ = {handles, std::size_t(count)};
        for (const MPI_Request handle : handles_) find_request(handle);  // all must be requests
    }

    std::size_t size() const { return handles_.size(); }
    MPI_Request& handle(std::size_t i) const { return handles_[i]; }
    bool active(std::size_t i) const { return is_active(handles_[i]); }
    bool complete(std::size_t i) const { return find<Request>(handles_[i])->complete(); }
    // The first active one that is complete; size(): none is.
    std::size_t first_complete() const {
        std::size_t i = 0;
        while (i < size() && !(active(i) && complete(i))) ++i;
        return i;
    }
    bool any_active() const {
        for (std::size_t i = 0; i < size(); ++i)
            if (active(i)) return true;
        return false;
    }
    bool all_complete() const {
        for (std::size_t i = 0; i < size(); ++i)
            if (active(i) && !complete(i)) return false;
        return true;
    }

    // Ends request i; its error is reported later, by tell_errors(), and stands in its status.
    void finish_one(std::size_t i, MPI_Status* status) {
        Request* const request = find_request(handles_[i]);
        if (request == nullptr) return set_empty(status);
        const Reference<Communicator> comm = request->comm;
        int code = MPI_SUCCESS;
        try {
            finish(*request, handles_[i], status);
        } catch (const Failure& failure) {
            code = failure.code();
            if (!failed_) {
                failed_ = true;
                comm_ = comm;
                text_ = failure.text();
            }
        }
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    }
    bool failed() const { return failed_; }
    // The code that the call returns.
    int tell_errors() {
        if (!failed_) return MPI_SUCCESS;
        return raise(call_, comm_.get(), Failure(MPI_ERR_IN_STATUS, text_));
    }

  private:
    const char* call_;
    std::span<MPI_Request> handles_;
    bool failed_ = false;
    Reference<Communicator> comm_;
    std::string text_;
};

// Waits for the plain requests at the beginning, which often are all; returns how many were
// completed.
int settle_plain(int count, MPI_Request* handles, MPI_Status* statuses) {
    for (int i = 0; i < count; ++i) {
        MPI_Status* const status =
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
        if (handles[i] == MPI_REQUEST_NULL) {
            set_empty(status);
            continue;
        }
        Request* const request = find<Request>(handles[i]);
        if (request == nullptr || !request->plain) return i;
        if (!request->complete()) wait_for(*request, "MPI_Waitall");
        if (!finish_plain(*request, handles[i], status)) return i;
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    }
    return count;
}

MPI_Status* status_of(MPI_Status* statuses, std::size_t i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// Where one of several is completed, its error is the call's own.
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
        fail(MPI_ERR_REQUEST, "found a request of {} that is started and not complete",
             request.call);
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
            if (!plain->complete()) wait_for(*plain, plain->call);
        } catch (const std::exception& error) {
            return raise("MPI_Wait", plain->comm.get(), error);
        }
        if (finish_plain(*plain, *request, status)) return MPI_SUCCESS;
    }
    return api_on("MPI_Wait", request, [&](Request* waited) {
        if (waited == nullptr) return set_empty(status);
        if (waited->active) wait_for(*waited, waited->call);
        if (!finish_plain(*waited, *request, status)) finish(*waited, *request, status);
    });
}

#pragma weak MPI_Test = PMPI_Test
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return api_on("MPI_Test", request, [&](Request* tested) {
        check_output("flag", flag);
        *flag = 1;
        if (tested == nullptr) return set_empty(status);
        *flag = !tested->active || test(*tested) ? 1 : 0;
        if (*flag != 0) finish(*tested, *request, status);
    });
}

#pragma weak MPI_Request_get_status = PMPI_Request_get_status
int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    return api_on("MPI_Request_get_status", &request, [&](Request* asked) {
        check_output("flag", flag);
        *flag = 1;
        if (asked == nullptr || !asked->active) return set_empty(status);
        *flag = test(*asked) ? 1 : 0;
        if (*flag != 0) set_known(*asked, status);
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
                return runtime().cancel(cancelled->receive);
            case Request::What::send:
                return runtime().cancel(cancelled->send);
            case Request::What::work:
                return cancelled->work->cancel();
            case Request::What::nothing:
                return;  // complete already
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
        const int settled = settle_plain(count, array_of_requests, array_of_statuses);
        if (settled == count) return MPI_SUCCESS;
        Batch batch("MPI_Waitall", count - settled, array_of_requests + settled);
        if (array_of_statuses != MPI_STATUSES_IGNORE) array_of_statuses += settled;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (batch.active(i)) wait_for(*find<Request>(batch.handle(i)), "MPI_Waitall");
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
        if (!batch.all_complete()) runtime().progress();
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
        if (found == batch.size())
            runtime().wait_until([&] { return (found = batch.first_complete()) != batch.size(); },
                                 "MPI_Waitany");
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
        if (batch.first_complete() == batch.size()) runtime().progress();
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
        if (batch.first_complete() == batch.size())
            runtime().wait_until([&] { return batch.first_complete() != batch.size(); },
                                 "MPI_Waitsome");
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
        if (batch.first_complete() == batch.size()) runtime().progress();
        return finish_some(batch, outcount, array_of_indices, array_of_statuses);
    });
}
}
