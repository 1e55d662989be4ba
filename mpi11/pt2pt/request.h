// SPDX-License-Identifier: BSD-3-Clause
// Requests: operations that are in progress, or that can be started again (MPI-1.1, sections 3.7,
// 3.9).
//
// Behind an MPI_Request is a Request: a send, a receive, or other Work such as a collective. They
// come from slabs, with core's request inside, so that a message needs no allocation. One thread at
// a time completes one; any thread may start others meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/request.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/status.h"

namespace torusmp::mpi {

class Request;

// The operation of a request that is not a message. Pooled by its module.
class Work {
  public:
    // Starts it; repeatedly if the request is persistent.
    virtual void start() = 0;
    virtual bool complete() const = 0;
    // Called once, after complete(): copies results to the program's memory. Throws Failure for its
    // error.
    virtual void finish() = 0;
    // The request is gone: the work returns to its pool. It was complete, or never started.
    virtual void give_back() = 0;
    // Its name in messages: the name of the call.
    virtual const char* name() const = 0;
    // Fills the status, after complete() and before finish(). Throws Failure if only that failed.
    virtual void report(MPI_Status* status) { set_empty(status); }
    // The program wants it to end early. Throws Failure if that is not possible.
    virtual void cancel();
    // The task that progress advances for it, for reports; null if none.
    virtual const core::Task* task() const { return nullptr; }
    // The events for which it waits, for reports.
    virtual void list(core::Awaited::List& list) const { list.ids.push_back(task()); }
    // The program frees the request. Returns true if the work ends the request itself, now or
    // later.
    virtual bool abandon(Request& request);

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

    // A request of kind `nothing` is complete as soon as it is started (buffered sends,
    // MPI_PROC_NULL, small messages that were sent immediately).
    enum class What : std::uint8_t { nothing, send, receive, work };
    enum class Mode : std::uint8_t { standard, synchronous, buffered };

    // From the pool; `call` names it in messages. Active, and not started.
    static Request& take(What what, const char* call, Communicator& comm) {
        Request& request = shared_by_threads || free_ == nullptr ? take_slowly() : pop();
        request.kind = Kind::request;
        request.what = what;
        request.mode = Mode::standard;
        request.persistent = false;
        request.active = true;
        request.is_receive = what == What::receive;
        request.sends_too = false;
        request.plain = false;
        request.call = call;
        request.comm.hold(comm);  // those in the pool have none
        return request;
    }
    // Returns it to the pool. Precondition: complete() or inactive.
    static void give(Request& request);
    // Returns a plain request to the pool.
    static void give_plain(Request& request) {
        request.comm.reset();
        if (shared_by_threads) [[unlikely]]
            return give_slowly(request);
        push(request);
    }
    // Visits all requests that were taken and not given back.
    static void for_each(const std::function<void(Request&)>& visit);

    What what = What::nothing;
    Mode mode = Mode::standard;
    bool persistent = false;
    bool active = true;       // started and not yet completed; false only for persistent ones
    bool is_receive = false;  // also true for a receive from MPI_PROC_NULL
    bool sends_too = false;   // a receive with a send attached
    bool plain = false;       // one message of one block, not persistent, without further resources
    const char* call = "";
    Reference<Communicator> comm;
    int peer = MPI_PROC_NULL;  // rank, or a wildcard
    int tag = 0;
    core::Buffer buffer;
    LayoutHold layout;                  // of the buffer, if it is not one block
    LayoutHold second_layout;           // of the data sent together with a receive
    std::unique_ptr<std::byte[]> copy;  // of the data to send, if the receive replaces it
    core::SendRequest send;             // the send attached to a receive, if any
    core::ReceiveRequest receive{true};
    Work* work = nullptr;

    // Whether there is nothing left to wait for. Does not make progress.
    bool complete() const {
        switch (what) {
            case What::send:
                return send.complete();
            case What::receive:
                return receive.complete() && (!sends_too || send.complete());
            case What::work:
                return work->complete();
            case What::nothing:
                break;
        }
        return true;
    }

  private:
    class Pool;
    class Kept;
    static Kept& kept();
    Request() : Object(Kind::dead) {}
    static Request& pop() {
        Request& request = *free_;
        free_ = request.next_free_;
        return request;
    }
    static void push(Request& request) {
        request.kind = Kind::dead;
        request.next_free_ = free_;
        free_ = &request;
    }
    static Request& take_slowly();
    static void give_slowly(Request& request);

    static inline constinit Request* free_ = nullptr;
    Request* next_free_ = nullptr;
};

// A request for work that start() starts. Takes ownership of `work`.
Request& make_request(Work& work, Communicator& comm, bool persistent);

// The work awaited by calls that complete requests, for reports.
class AwaitedWork final : public core::Awaited {
  public:
    explicit AwaitedWork(const Work& work) : work_(work) {}
    void list(List& list) const override { work_.list(list); }

  private:
    const Work& work_;
};

class AwaitedRequests final : public core::Awaited {
  public:
    // If `any`, one of the requests is enough.
    AwaitedRequests(std::span<const MPI_Request> handles, bool any)
        : handles_(handles), any_(any) {}
    void list(List& list) const override;

  private:
    std::span<const MPI_Request> handles_;
    bool any_;
};

// Starts the operation of the request, for the first time or, if it is persistent, once more.
void start(Request& request);

// Called after complete(). Fills the status except for MPI_ERROR, ends the request or makes it
// inactive, and throws Failure for its error. `handle` becomes MPI_REQUEST_NULL if the request
// ends.
void finish(Request& request, MPI_Request& handle, MPI_Status* status);

// Finishes a plain request without an error; false if it is not such a request, and is unchanged.
inline bool finish_plain(Request& request, MPI_Request& handle, MPI_Status* status);

// Fills the status of a complete request as far as it is known before finish().
void set_known(const Request& request, MPI_Status* status);

// The program frees the request: an active one completes by itself, without a waiting call.
void abandon(Request& request);
// Whether no freed request of the communicator is still in progress.
bool orphans_done(const Communicator& comm);
// Reports persistent requests that are not started, from this call to the end of MPI.
void begin_reports();
void end_reports();
// Called by MPI_Finalize. Cancels the receives that can no longer match, and waits for the sends
// that were freed while in progress.
void finish_orphans();

// Waits for work that belongs to a blocking call, finishes it and gives it back.
void run(Work& work);

// The type of a message. It may be null if the count is 0 and the peer is MPI_PROC_NULL.
inline const Datatype& type_of_message(MPI_Datatype datatype, std::int64_t count, int peer) {
    if (find<Datatype>(datatype) == nullptr) [[unlikely]]
        if (datatype == MPI_DATATYPE_NULL && count == 0 && peer == MPI_PROC_NULL)
            return datatype_of(Basic::byte);
    return committed(datatype);
}

// Throw Failure for an invalid argument; the type is returned.
template <class Count>
[[gnu::always_inline]] inline const Datatype& check_send(const void* buffer, Count count,
                                                         MPI_Datatype datatype, int dest, int tag,
                                                         const Communicator& comm) {
    check_count(count);
    const Datatype& type = type_of_message(datatype, count, dest);
    check_dest(comm, dest);
    check_send_tag(tag);
    check_buffer(buffer, count, type);
    return type;
}
template <class Count>
[[gnu::always_inline]] inline const Datatype& check_receive(const void* buffer, Count count,
                                                            MPI_Datatype datatype, int source,
                                                            int tag, const Communicator& comm) {
    check_count(count);
    const Datatype& type = type_of_message(datatype, count, source);
    check_source(comm, source);
    check_receive_tag(tag);
    check_buffer(buffer, count, type);
    return type;
}
inline Rank machine_source(const Communicator& comm, int source) {
    return source == MPI_ANY_SOURCE ? core::any_source : comm.peer(source);
}

// Throws Failure for a message that ended with an error.
namespace wrong {
// Return if the program has cancelled the message.
void sent(const core::SendRequest& send, const Communicator& comm, int dest, int tag);
void received(const core::ReceiveRequest& receive, const Communicator& comm);
void check_elements(const core::ReceiveRequest& receive, const Communicator& comm,
                    const ElementLayout& layout);
}  // namespace wrong
inline void check_sent(const core::SendRequest& send, const Communicator& comm, int dest, int tag) {
    if (send.status().error != core::Error::none) [[unlikely]]
        wrong::sent(send, comm, dest, tag);
}
inline void check_received(const core::ReceiveRequest& receive, const Communicator& comm) {
    if (receive.status().error != core::Error::none) [[unlikely]]
        wrong::received(receive, comm);
}
// The same, with the hold of the receive's layout. A message that ends inside a basic element of
// scattered memory is of another type, which is an error (MPI-4.1, section 3.3.1). One block of
// memory takes any number of bytes, as in other libraries, and MPI_Get_count then returns
// MPI_UNDEFINED.
inline void check_received(const core::ReceiveRequest& receive, const Communicator& comm,
                           const LayoutHold& hold) {
    check_received(receive, comm);
    if (hold != nullptr && receive.status().bytes != receive.bytes()) [[unlikely]]
        wrong::check_elements(receive, comm, *hold);
}
// The status of a receive that is complete.
void set_received_slowly(MPI_Status* status, const core::ReceiveRequest& receive,
                         const Communicator& comm);
inline void set_received(MPI_Status* status, const core::ReceiveRequest& receive,
                         const Communicator& comm) {
    if (status == MPI_STATUS_IGNORE) return;
    const core::Status& got = receive.status();
    if (got.error == core::Error::none) [[likely]]
        set_status(status, comm.rank_of(got.source), got.tag, got.bytes);
    else
        set_received_slowly(status, receive, comm);
}

inline bool finish_plain(Request& request, MPI_Request& handle, MPI_Status* status) {
    if (!request.plain) return false;
    if (request.what != Request::What::receive) {
        if (request.what == Request::What::send && request.send.status().error != core::Error::none)
            [[unlikely]]
            return false;
        if (status != MPI_STATUS_IGNORE) set_empty(status);
    } else {
        if (request.receive.status().error != core::Error::none) [[unlikely]]
            return false;
        set_received(status, request.receive, *request.comm);
    }
    Request::give_plain(request);
    handle = MPI_REQUEST_NULL;
    return true;
}

}  // namespace torusmp::mpi
