// SPDX-License-Identifier: BSD-3-Clause
// Helpers for the functions of the C API on requests: one request, or several.
#pragma once

#include <span>

#include "mpi11/error/check.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

inline Request* find_request(MPI_Request handle) {
    return handle == MPI_REQUEST_NULL ? nullptr : &checked<Request>(handle);
}

inline bool is_active(MPI_Request handle) {
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

inline bool test(const char* call, const Request& request, const MPI_Request* handle) {
    if (request.complete()) return true;
    runtime().progress_for(call, AwaitedRequests({handle, 1}, false));
    return request.complete();
}

// Several requests of one call.
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
    std::span<const MPI_Request> handles() const { return handles_; }
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

    // Fills the status of request i, which continues.
    void tell_known(std::size_t i, MPI_Status* status) const {
        if (active(i))
            set_known(*find<Request>(handles_[i]), status);
        else
            set_empty(status);
    }

    // Ends request i; its error is stored in its status, and reported later by tell_errors().
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
                cause_ = code;
            }
        }
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    }
    bool failed() const { return failed_; }
    // The code that the call returns.
    int tell_errors() {
        if (!failed_) return MPI_SUCCESS;
        return raise(call_, comm_.get(), Failure(MPI_ERR_IN_STATUS, text_, cause_));
    }

  private:
    const char* call_;
    std::span<MPI_Request> handles_;
    bool failed_ = false;
    Reference<Communicator> comm_;
    std::string text_;
    int cause_ = MPI_SUCCESS;
};

inline MPI_Status* status_of(MPI_Status* statuses, std::size_t i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

}  // namespace torusmp::mpi
