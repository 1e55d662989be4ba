// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives (MPI-1.1, sections 3.2 to 3.7 and 3.10).
#include <array>

#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/buffered.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

namespace {

// Most messages that programs wait for are small and are sent immediately.
bool left_at_once(const void* buffer, std::size_t count, const Datatype& type, int dest, int tag,
                  const Communicator& comm) {
    return type.dense() && comm.runtime().send_at_once(block_of(buffer, count, type),
                                                       comm.peer(dest), comm.context(), tag);
}

// All other messages.
[[gnu::noinline]] void send_and_wait(const char* call, const void* buffer, std::size_t count,
                                     const Datatype& type, int dest, int tag,
                                     const Communicator& comm, core::SendMode mode) {
    LayoutHold hold;
    const core::Buffer message = buffer_of(buffer, count, type, hold);
    core::SendRequest request;
    comm.runtime().send(request, message, comm.peer(dest), comm.context(), tag, mode);
    comm.runtime().wait(request, call);
    check_sent(request, comm, dest, tag);
}

// The calls differ only in constants: each gets a body of its own.
template <class Count>
[[gnu::always_inline]] inline int send(const char* call, const void* buffer, Count count,
                                       MPI_Datatype datatype, int dest, int tag, MPI_Comm handle,
                                       core::SendMode mode) {
    return api_with_others(
        call, handle, [&](Communicator & comm) __attribute__((always_inline)) {
            const Datatype& type = check_send(buffer, count, datatype, dest, tag, comm);
            if (dest == MPI_PROC_NULL) return;
            if (mode == core::SendMode::standard &&
                left_at_once(buffer, std::size_t(count), type, dest, tag, comm)) [[likely]]
                return;
            send_and_wait(call, buffer, std::size_t(count), type, dest, tag, comm, mode);
        });
}

[[gnu::noinline]] void receive_scattered(const char* call, void* buffer, std::size_t count,
                                         const Datatype& type, int source, int tag,
                                         const Communicator& comm, MPI_Status* status) {
    LayoutHold hold;
    const core::Buffer message = buffer_of(buffer, count, type, hold);
    core::ReceiveRequest request;
    comm.runtime().receive(request, message, machine_source(comm, source), comm.context(),
                           core_tag(tag));
    comm.runtime().wait(request, call);
    set_received(status, request, comm);
    check_received(request, comm, hold);
}

template <class Count>
[[gnu::always_inline]] inline int receive(const char* call, void* buffer, Count count,
                                          MPI_Datatype datatype, int source, int tag,
                                          MPI_Comm handle, MPI_Status* status) {
    return api_with_others(
        call, handle, [&](Communicator & comm) __attribute__((always_inline)) {
            const Datatype& type = check_receive(buffer, count, datatype, source, tag, comm);
            if (source == MPI_PROC_NULL) return set_proc_null(status);
            if (!type.dense()) [[unlikely]]
                return receive_scattered(call, buffer, std::size_t(count), type, source, tag, comm,
                                         status);
            core::ReceiveRequest request;
            comm.runtime().receive_block(request, block_of(buffer, std::size_t(count), type),
                                         machine_source(comm, source), comm.context(),
                                         core_tag(tag));
            comm.runtime().wait(request, call);
            set_received(status, request, comm);
            check_received(request, comm);
        });
}

// Starts a request of that kind, or only prepares a persistent one.
template <class Count>
[[gnu::always_inline]] inline int begin_send(const char* call, const void* buffer, Count count,
                                             MPI_Datatype datatype, int dest, int tag,
                                             MPI_Comm handle, MPI_Request* result,
                                             Request::Mode mode, bool persistent) {
    return api_with_request(
        call, handle, result, [&](Communicator & comm) __attribute__((always_inline)) {
            const Datatype& type = check_send(buffer, count, datatype, dest, tag, comm);
            const bool nothing = dest == MPI_PROC_NULL || mode == Request::Mode::buffered;
            Request& request =
                Request::take(nothing ? Request::What::nothing : Request::What::send, call, comm);
            request.mode = mode;
            request.persistent = persistent;
            request.active = !persistent;
            request.peer = dest;
            request.tag = tag;
            request.buffer = buffer_of(buffer, std::size_t(count), type, request.layout);
            *result = handle_of(request);
            if (persistent) return;
            if (nothing) return start(request);
            request.plain = type.dense();
            if (mode == Request::Mode::standard &&
                left_at_once(buffer, std::size_t(count), type, dest, tag, comm)) [[likely]] {
                request.what = Request::What::nothing;
                return;
            }
            comm.runtime().send(request.send, request.buffer, comm.peer(dest), comm.context(), tag,
                                mode == Request::Mode::synchronous ? core::SendMode::synchronous
                                                                   : core::SendMode::standard);
        });
}

template <class Count>
[[gnu::always_inline]] inline int begin_receive(const char* call, void* buffer, Count count,
                                                MPI_Datatype datatype, int source, int tag,
                                                MPI_Comm handle, MPI_Request* result,
                                                bool persistent) {
    return api_with_request(
        call, handle, result, [&](Communicator & comm) __attribute__((always_inline)) {
            const Datatype& type = check_receive(buffer, count, datatype, source, tag, comm);
            const bool nothing = source == MPI_PROC_NULL;
            Request& request = Request::take(
                nothing ? Request::What::nothing : Request::What::receive, call, comm);
            request.is_receive = true;
            request.persistent = persistent;
            request.active = !persistent;
            request.peer = source;
            request.tag = tag;
            request.buffer = buffer_of(buffer, std::size_t(count), type, request.layout);
            *result = handle_of(request);
            if (persistent || nothing) return;
            request.plain = type.dense();
            if (request.plain) [[likely]]
                comm.runtime().receive_block(
                    request.receive, block_of(buffer, std::size_t(count), type),
                    machine_source(comm, source), comm.context(), core_tag(tag));
            else
                comm.runtime().receive(request.receive, request.buffer,
                                       machine_source(comm, source), comm.context(), core_tag(tag));
        });
}

class AwaitedExchange final : public core::Awaited {
  public:
    AwaitedExchange(const core::Request& send, const core::Request& receive)
        : send_(send), receive_(receive) {}
    void list(List& list) const override {
        for (const core::Request* request : {&send_, &receive_})
            if (!request->complete()) list.ids.push_back(request);
    }

  private:
    const core::Request& send_;
    const core::Request& receive_;
};

// One message of an exchange: checked, and holding its layout.
struct Side {
    core::Buffer buffer;
    LayoutHold hold;
};

// A send and a receive together. Both are complete when this returns or throws.
void exchange(const char* call, const core::Buffer& out, int dest, int send_tag, const Side& in,
              int source, int receive_tag, Communicator& comm, MPI_Status* status) {
    core::SendRequest send;
    core::ReceiveRequest receive;
    if (source != MPI_PROC_NULL)
        comm.runtime().receive(receive, in.buffer, machine_source(comm, source), comm.context(),
                               core_tag(receive_tag));
    if (dest != MPI_PROC_NULL)
        comm.runtime().send(send, out, comm.peer(dest), comm.context(), send_tag);
    const AwaitedExchange awaited(send, receive);
    comm.runtime().wait_until([&] { return send.complete() && receive.complete(); }, call,
                              &awaited);
    if (source == MPI_PROC_NULL)
        set_proc_null(status);
    else
        set_received(status, receive, comm);
    if (source != MPI_PROC_NULL) check_received(receive, comm, in.hold);
    if (dest != MPI_PROC_NULL) check_sent(send, comm, dest, send_tag);
}

// A copy of the data to send, whose memory is received into.
class Copy {
  public:
    explicit Copy(const core::Buffer& message) : bytes_(message.bytes) {
        if (bytes_ > small_.size()) large_ = std::make_unique<std::byte[]>(bytes_);
        message.pack(0, memory(), bytes_);
    }
    core::Buffer buffer() { return {static_cast<void*>(memory()), bytes_}; }

  private:
    std::byte* memory() { return large_ ? large_.get() : small_.data(); }
    std::size_t bytes_;
    std::array<std::byte, 1024> small_;
    std::unique_ptr<std::byte[]> large_;
};

// The request of an exchange: a receive with a send attached.
Request& begin_exchange(const char* call, const core::Buffer& out, int dest, int send_tag,
                        const core::Buffer& in, int source, int receive_tag, Communicator& comm,
                        LayoutHold hold_out, LayoutHold hold_in,
                        std::unique_ptr<std::byte[]> copy) {
    if (source == MPI_PROC_NULL && dest == MPI_PROC_NULL) {
        Request& request = Request::take(Request::What::nothing, call, comm);
        request.is_receive = true;
        request.peer = MPI_PROC_NULL;
        return request;
    }
    Request& request = Request::take(Request::What::receive, call, comm);
    request.peer = source;
    request.tag = receive_tag;
    request.buffer = in;
    request.layout = std::move(hold_in);
    request.second_layout = std::move(hold_out);
    request.copy = std::move(copy);
    if (source != MPI_PROC_NULL) start(request);
    request.sends_too = dest != MPI_PROC_NULL;
    if (request.sends_too)
        comm.runtime().send(request.send, out, comm.peer(dest), comm.context(), send_tag);
    return request;
}

template <class Count>
Side outgoing(const void* buffer, Count count, MPI_Datatype datatype, int dest, int tag,
              const Communicator& comm) {
    Side side;
    const Datatype& type = check_send(buffer, count, datatype, dest, tag, comm);
    side.buffer = buffer_of(buffer, std::size_t(count), type, side.hold);
    return side;
}

template <class Count>
Side incoming(void* buffer, Count count, MPI_Datatype datatype, int source, int tag,
              const Communicator& comm) {
    Side side;
    const Datatype& type = check_receive(buffer, count, datatype, source, tag, comm);
    side.buffer = buffer_of(buffer, std::size_t(count), type, side.hold);
    return side;
}

template <class Count>
int exchange(const char* call, const void* send_buffer, Count send_count, MPI_Datatype send_type,
             int dest, int send_tag, void* receive_buffer, Count receive_count,
             MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm handle,
             MPI_Status* status) {
    return api_with_others(call, handle, [&](Communicator& comm) {
        const Side out = outgoing(send_buffer, send_count, send_type, dest, send_tag, comm);
        const Side in =
            incoming(receive_buffer, receive_count, receive_type, source, receive_tag, comm);
        exchange(call, out.buffer, dest, send_tag, in, source, receive_tag, comm, status);
    });
}

template <class Count>
int begin_exchange(const char* call, const void* send_buffer, Count send_count,
                   MPI_Datatype send_type, int dest, int send_tag, void* receive_buffer,
                   Count receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                   MPI_Comm handle, MPI_Request* request) {
    return api_with_request(call, handle, request, [&](Communicator& comm) {
        const Side out = outgoing(send_buffer, send_count, send_type, dest, send_tag, comm);
        const Side in =
            incoming(receive_buffer, receive_count, receive_type, source, receive_tag, comm);
        *request = handle_of(begin_exchange(call, out.buffer, dest, send_tag, in.buffer, source,
                                            receive_tag, comm, out.hold, in.hold, nullptr));
    });
}

template <class Count>
int replace(const char* call, void* buffer, Count count, MPI_Datatype datatype, int dest,
            int send_tag, int source, int receive_tag, MPI_Comm handle, MPI_Status* status) {
    return api_with_others(call, handle, [&](Communicator& comm) {
        check_send(buffer, count, datatype, dest, send_tag, comm);
        const Side in = incoming(buffer, count, datatype, source, receive_tag, comm);
        Copy copy(in.buffer);
        exchange(call, copy.buffer(), dest, send_tag, in, source, receive_tag, comm, status);
    });
}

template <class Count>
int begin_replace(const char* call, void* buffer, Count count, MPI_Datatype datatype, int dest,
                  int send_tag, int source, int receive_tag, MPI_Comm handle,
                  MPI_Request* request) {
    return api_with_request(call, handle, request, [&](Communicator& comm) {
        check_send(buffer, count, datatype, dest, send_tag, comm);
        const Side in = incoming(buffer, count, datatype, source, receive_tag, comm);
        auto copy = std::make_unique<std::byte[]>(in.buffer.bytes);
        in.buffer.pack(0, copy.get(), in.buffer.bytes);
        const core::Buffer out(static_cast<void*>(copy.get()), in.buffer.bytes);
        *request = handle_of(begin_exchange(call, out, dest, send_tag, in.buffer, source,
                                            receive_tag, comm, nullptr, in.hold, std::move(copy)));
    });
}

}  // namespace
}  // namespace torusmp::mpi

#define SEND_PARAMETERS(...)                                                 \
    (const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, \
     MPI_Comm comm __VA_OPT__(, ) __VA_ARGS__)

// The receive of a ready send is already posted, so it gains nothing over a standard one.
#define SENDS(Name, mode)                    \
    TORUSMP_ENTRIES(Name, SEND_PARAMETERS(), \
                    send(name, buf, count, datatype, dest, tag, comm, core::SendMode::mode))
SENDS(Send, standard)
SENDS(Ssend, synchronous)
SENDS(Rsend, standard)

#define SEND_REQUESTS(Name, mode, persistent)                                        \
    TORUSMP_ENTRIES(Name, SEND_PARAMETERS(MPI_Request* request),                     \
                    begin_send(name, buf, count, datatype, dest, tag, comm, request, \
                               Request::Mode::mode, persistent))
SEND_REQUESTS(Isend, standard, false)
SEND_REQUESTS(Issend, synchronous, false)
SEND_REQUESTS(Irsend, standard, false)
SEND_REQUESTS(Ibsend, buffered, false)
// Persistent requests: section 3.9.
SEND_REQUESTS(Send_init, standard, true)
SEND_REQUESTS(Ssend_init, synchronous, true)
SEND_REQUESTS(Rsend_init, standard, true)
SEND_REQUESTS(Bsend_init, buffered, true)

TORUSMP_ENTRIES(Recv,
                (void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Status* status),
                receive(name, buf, count, datatype, source, tag, comm, status))

#define RECEIVE_REQUESTS(Name, persistent)                                                  \
    TORUSMP_ENTRIES(                                                                        \
        Name,                                                                               \
        (void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, \
         MPI_Request* request),                                                             \
        begin_receive(name, buf, count, datatype, source, tag, comm, request, persistent))
RECEIVE_REQUESTS(Irecv, false)
RECEIVE_REQUESTS(Recv_init, true)

// Send and receive together: section 3.10.
#define EXCHANGES(Name, function, Result, result)                                           \
    TORUSMP_ENTRIES(Name,                                                                   \
                    (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, \
                     int sendtag, void* recvbuf, Count recvcount, MPI_Datatype recvtype,    \
                     int source, int recvtag, MPI_Comm comm, Result* result),               \
                    function(name, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,    \
                             recvcount, recvtype, source, recvtag, comm, result))
EXCHANGES(Sendrecv, exchange, MPI_Status, status)
EXCHANGES(Isendrecv, begin_exchange, MPI_Request, request)
#undef EXCHANGES

#define REPLACEMENTS(Name, function, Result, result)                                       \
    TORUSMP_ENTRIES(                                                                       \
        Name,                                                                              \
        (void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source, \
         int recvtag, MPI_Comm comm, Result* result),                                      \
        function(name, buf, count, datatype, dest, sendtag, source, recvtag, comm, result))
REPLACEMENTS(Sendrecv_replace, replace, MPI_Status, status)
REPLACEMENTS(Isendrecv_replace, begin_replace, MPI_Request, request)
