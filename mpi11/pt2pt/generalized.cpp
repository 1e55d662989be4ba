// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/pt2pt/generalized.h"

#include <atomic>
#include <memory>

#include "mpi11/error/check.h"
#include "mpi11/fortran/fortran_hooks.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

// Calls the program's functions, which return error codes.
class Callbacks {
  public:
    explicit Callbacks(const GeneralizedFunctions& functions) : functions_(functions) {}

    int query(MPI_Status* status) {
        if (in_fortran())
            return call_fortran_query(functions_.query, functions_.extra_state, *status);
        return reinterpret_cast<MPI_Grequest_query_function*>(functions_.query)(
            functions_.extra_state, status);
    }
    int free() {
        if (in_fortran()) return call_fortran_free(functions_.free, functions_.extra_state);
        return reinterpret_cast<MPI_Grequest_free_function*>(functions_.free)(
            functions_.extra_state);
    }
    int cancel(bool complete) {
        if (in_fortran())
            return call_fortran_cancel(functions_.cancel, functions_.extra_state, complete);
        return reinterpret_cast<MPI_Grequest_cancel_function*>(functions_.cancel)(
            functions_.extra_state, complete ? 1 : 0);
    }

  private:
    bool in_fortran() const {
        return functions_.language == GeneralizedFunctions::Language::fortran;
    }

    GeneralizedFunctions functions_;
};

void check_returned(int code, const char* function) {
    if (code != MPI_SUCCESS)
        fail(code, "the {} of a generalized request returned {}", function, code);
}

// Complete when the program declares it, perhaps in another thread than the waiting one. Ended by
// the call that completes it or, if the program freed it, by the later one of MPI_Request_free and
// MPI_Grequest_complete.
class Generalized final : public Work {
  public:
    explicit Generalized(const GeneralizedFunctions& functions) : callbacks_(functions) {}
    ~Generalized() = default;

    void complete_now(Request& request) {
        const unsigned before = happened_.fetch_or(completed, std::memory_order_acq_rel);
        if ((before & completed) != 0)
            fail(MPI_ERR_REQUEST, "found a request that is already complete");
        if ((before & freed) != 0)
            end(request);
        else
            runtime().recheck();  // another thread may wait for it
    }

    void start() override {}
    bool complete() const override {
        return (happened_.load(std::memory_order_acquire) & completed) != 0;
    }
    void report(MPI_Status* status) override {
        MPI_Status unwanted;
        MPI_Status* const filled = status == MPI_STATUS_IGNORE ? &unwanted : status;
        set_empty(filled);
        check_returned(callbacks_.query(filled), "query function");
    }
    void finish() override { check_returned(callbacks_.free(), "free function"); }
    void cancel() override { check_returned(callbacks_.cancel(complete()), "cancel function"); }
    bool abandon(Request& request) override {
        if ((happened_.fetch_or(freed, std::memory_order_acq_rel) & completed) != 0) end(request);
        return true;
    }
    void give_back() override { const std::unique_ptr<Generalized> end(this); }
    const char* name() const override { return "MPI_Grequest_start"; }

  private:
    void end(Request& request) {
        const int code = callbacks_.free();
        Request::give(request);  // also returns this work
        check_returned(code, "free function");
    }

    static constexpr unsigned completed = 1;
    static constexpr unsigned freed = 2;
    std::atomic<unsigned> happened_{0};
    Callbacks callbacks_;
};

Generalized& generalized(Request& request) {
    auto* const work =
        request.what == Request::What::work ? dynamic_cast<Generalized*>(request.work) : nullptr;
    if (work == nullptr)
        fail(MPI_ERR_REQUEST, "found a request of {}, expected one of MPI_Grequest_start",
             request.call);
    return *work;
}

}  // namespace

MPI_Request start_generalized(const GeneralizedFunctions& functions) {
    if (functions.query == nullptr || functions.free == nullptr || functions.cancel == nullptr)
        fail(MPI_ERR_ARG, "found a null pointer for a function, expected three functions");
    auto work = std::make_unique<Generalized>(functions);
    Request& request = make_request(*work, *hot.world, false);
    work.release();  // now owned by the request
    return handle_of(request);
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Grequest_start = PMPI_Grequest_start
int PMPI_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                        MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                        MPI_Request* request) {
    return api("MPI_Grequest_start", [&] {
        check_output("request", request);
        *request = start_generalized({GeneralizedFunctions::Language::c,
                                      reinterpret_cast<void (*)()>(query_fn),
                                      reinterpret_cast<void (*)()>(free_fn),
                                      reinterpret_cast<void (*)()>(cancel_fn), extra_state});
    });
}

#pragma weak MPI_Grequest_complete = PMPI_Grequest_complete
int PMPI_Grequest_complete(MPI_Request request) {
    return api("MPI_Grequest_complete", [&] {
        Request& completed = checked<Request>(request);
        generalized(completed).complete_now(completed);
    });
}
}
