// Requests: operations that are under way, or that can be started again (MPI-1.1,
// sections 3.7, 3.9).
//
// Behind an MPI_Request stands a Request: a send, a receive, or other Work such as a collective.
// They come from slabs, with the core's request inside, so that nothing is allocated for a message.
// One thread at a time completes one; any thread may start others meanwhile.
#pragma once

#include <memory>
#include <string>

#include "core/request.h"
#include "mpi11/communicator.h"
#include "mpi11/datatype.h"
#include "mpi11/status.h"

namespace torusmp::mpi {

// What a request of anything but a message stands for. Pooled by those who define it.
class Work {
  public:
    // Starts it; again and again where the request is persistent.
    virtual void start() = 0;
    virtual bool complete() const = 0;
    // Once, after complete(): brings results to where the program wants them. Throws Failure for
    // what went wrong.
    virtual void finish() = 0;
    // The request is gone: back to the pool. Complete, or never started.
    virtual void give_back() = 0;
    // What it is, for messages: the name of the call.
    virtual const char* name() const = 0;

  protected:
    ~Work() = default;
};

class Request : public Object {
  public:
    using Handle = MPI_Request;
    static constexpr Kind kind_of_class = Kind::request;
    static constexpr int error_class = MPI_ERR_REQUEST;
    static inline const Handle null_handle = MPI_REQUEST_NULL;
    static constexpr const char* null_name = "MPI_REQUEST_NULL";
    static constexpr const char* noun = "request";

    enum class What : std::uint8_t { nothing, send, receive, work };
    explicit Request(What of) : Object(kind_of_class), what(of) {}

    What what;
    bool persistent = false;
    bool active = true;  // started and not yet completed; false only of persistent ones
    bool freed = false;  // MPI_Request_free came before its completion
    const char* call = "";
    Reference<Communicator> comm;
    LayoutHold layout;  // of the buffer, where it is not one block
    core::Buffer buffer;
    int peer = MPI_PROC_NULL;  // rank, or a wildcard
    int tag = 0;
    enum class Mode : std::uint8_t { standard, synchronous, buffered } mode = Mode::standard;
    core::SendRequest send;
    core::ReceiveRequest receive;
    Work* work = nullptr;

    // Whether nothing is left to wait for. Does not make progress.
    bool complete() const {
        switch (what) {
            case What::send:
                return send.complete();
            case What::receive:
                return receive.complete();
            case What::work:
                return work->complete();
            case What::nothing:
                break;
        }
        return true;
    }
};

// A request for work, active. Ownership of `work` goes to it.
Request& make_request(Work& work, Communicator& comm, bool persistent);

// Starts a persistent request, or the message of any other for the first time.
void start(Request& request);

// After complete(): fills the status, ends the request or makes it inactive, and throws Failure
// with what went wrong. `handle` becomes MPI_REQUEST_NULL where the request ends.
void finish(Request& request, MPI_Request& handle, MPI_Status* status);

// Waits for work that belongs to a blocking call, finishes it and gives it back.
void run(Work& work);

}  // namespace torusmp::mpi
