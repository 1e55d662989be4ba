// Sends and receives (MPI-1.1, sections 3.2 to 3.7 and 3.10).
#include <array>

#include "mpi11/buffered.h"
#include "mpi11/check.h"
#include "mpi11/request.h"

namespace torusmp::mpi {

namespace {

// The calls differ in constants alone: each gets a body of its own.
[[gnu::always_inline]] inline int send(const char* call, const void* buffer, int count,
                                       MPI_Datatype datatype, int dest, int tag, MPI_Comm handle,
                                       core::SendMode mode) {
    return api(call, handle, [&](Communicator& comm) {
        const Datatype& type = check_send(buffer, count, datatype, dest, tag, comm);
        if (dest == MPI_PROC_NULL) return;
        LayoutHold hold;
        const core::Buffer message = buffer_of(buffer, std::size_t(count), type, hold);
        core::SendRequest request;
        runtime().send(request, message, comm.peer(dest), comm.context(), tag, mode);
        if (!request.complete()) runtime().wait(request, call);
        check_sent(request, comm, dest, tag);
    });
}

// Starts a request of that kind, or only prepares a persistent one.
[[gnu::always_inline]] inline int begin_send(const char* call, const void* buffer, int count,
                                             MPI_Datatype datatype, int dest, int tag,
                                             MPI_Comm handle, MPI_Request* result,
                                             Request::Mode mode, bool persistent) {
    return api(call, handle, [&](Communicator& comm) {
        check_output("request", result);
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
        runtime().send(request.send, request.buffer, comm.peer(dest), comm.context(), tag,
                       mode == Request::Mode::synchronous ? core::SendMode::synchronous
                                                          : core::SendMode::standard);
    });
}

[[gnu::always_inline]] inline int begin_receive(const char* call, void* buffer, int count,
                                                MPI_Datatype datatype, int source, int tag,
                                                MPI_Comm handle, MPI_Request* result,
                                                bool persistent) {
    return api(call, handle, [&](Communicator& comm) {
        check_output("request", result);
        const Datatype& type = check_receive(buffer, count, datatype, source, tag, comm);
        const bool nothing = source == MPI_PROC_NULL;
        Request& request =
            Request::take(nothing ? Request::What::nothing : Request::What::receive, call, comm);
        request.is_receive = true;
        request.persistent = persistent;
        request.active = !persistent;
        request.peer = source;
        request.tag = tag;
        request.buffer = buffer_of(buffer, std::size_t(count), type, request.layout);
        *result = handle_of(request);
        if (persistent || nothing) return;
        request.plain = type.dense();
        runtime().receive(request.receive, request.buffer, machine_source(comm, source),
                          comm.context(), core_tag(tag));
    });
}

// A send and a receive at once. Both are complete when this returns or throws.
void exchange(const char* call, const core::Buffer& out, int dest, int send_tag,
              const core::Buffer& in, int source, int receive_tag, Communicator& comm,
              MPI_Status* status) {
    core::SendRequest send;
    core::ReceiveRequest receive;
    if (source != MPI_PROC_NULL)
        runtime().receive(receive, in, machine_source(comm, source), comm.context(),
                          core_tag(receive_tag));
    if (dest != MPI_PROC_NULL) runtime().send(send, out, comm.peer(dest), comm.context(), send_tag);
    runtime().wait(send, call);
    runtime().wait(receive, call);
    if (source == MPI_PROC_NULL)
        set_proc_null(status);
    else
        set_received(status, receive, comm);
    if (source != MPI_PROC_NULL) check_received(receive, comm);
    if (dest != MPI_PROC_NULL) check_sent(send, comm, dest, send_tag);
}

// What is sent while the same memory is received into.
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

// The request of an exchange: a receive that has a send with it.
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
        runtime().send(request.send, out, comm.peer(dest), comm.context(), send_tag);
    return request;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp;
using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Send = PMPI_Send
int PMPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Send", buf, count, datatype, dest, tag, comm, core::SendMode::standard);
}

#pragma weak MPI_Ssend = PMPI_Ssend
int PMPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
    return send("MPI_Ssend", buf, count, datatype, dest, tag, comm, core::SendMode::synchronous);
}

// Its receive is there already, so that nothing is gained over a standard send.
#pragma weak MPI_Rsend = PMPI_Rsend
int PMPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
    return send("MPI_Rsend", buf, count, datatype, dest, tag, comm, core::SendMode::standard);
}

#pragma weak MPI_Recv = PMPI_Recv
int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status* status) {
    return api("MPI_Recv", comm, [&](Communicator& c) {
        const Datatype& type = check_receive(buf, count, datatype, source, tag, c);
        if (source == MPI_PROC_NULL) return set_proc_null(status);
        LayoutHold hold;
        const core::Buffer message = buffer_of(buf, std::size_t(count), type, hold);
        core::ReceiveRequest request;
        runtime().receive(request, message, machine_source(c, source), c.context(), core_tag(tag));
        if (!request.complete()) runtime().wait(request, "MPI_Recv");
        set_received(status, request, c);
        check_received(request, c);
    });
}

#pragma weak MPI_Isend = PMPI_Isend
int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return begin_send("MPI_Isend", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::standard, false);
}

#pragma weak MPI_Issend = PMPI_Issend
int PMPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
    return begin_send("MPI_Issend", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::synchronous, false);
}

#pragma weak MPI_Irsend = PMPI_Irsend
int PMPI_Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
    return begin_send("MPI_Irsend", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::standard, false);
}

#pragma weak MPI_Ibsend = PMPI_Ibsend
int PMPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
    return begin_send("MPI_Ibsend", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::buffered, false);
}

#pragma weak MPI_Irecv = PMPI_Irecv
int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return begin_receive("MPI_Irecv", buf, count, datatype, source, tag, comm, request, false);
}

// --- persistent requests (section 3.9) ---

#pragma weak MPI_Send_init = PMPI_Send_init
int PMPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
    return begin_send("MPI_Send_init", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::standard, true);
}

#pragma weak MPI_Ssend_init = PMPI_Ssend_init
int PMPI_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
    return begin_send("MPI_Ssend_init", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::synchronous, true);
}

#pragma weak MPI_Bsend_init = PMPI_Bsend_init
int PMPI_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
    return begin_send("MPI_Bsend_init", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::buffered, true);
}

#pragma weak MPI_Rsend_init = PMPI_Rsend_init
int PMPI_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
    return begin_send("MPI_Rsend_init", buf, count, datatype, dest, tag, comm, request,
                      Request::Mode::standard, true);
}

#pragma weak MPI_Recv_init = PMPI_Recv_init
int PMPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return begin_receive("MPI_Recv_init", buf, count, datatype, source, tag, comm, request, true);
}

// --- both at once (section 3.10) ---

#pragma weak MPI_Sendrecv = PMPI_Sendrecv
int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status* status) {
    return api("MPI_Sendrecv", comm, [&](Communicator& c) {
        LayoutHold hold_out;
        LayoutHold hold_in;
        const Datatype& sent = check_send(sendbuf, sendcount, sendtype, dest, sendtag, c);
        const Datatype& received = check_receive(recvbuf, recvcount, recvtype, source, recvtag, c);
        const auto out = buffer_of(sendbuf, std::size_t(sendcount), sent, hold_out);
        const auto in = buffer_of(recvbuf, std::size_t(recvcount), received, hold_in);
        exchange("MPI_Sendrecv", out, dest, sendtag, in, source, recvtag, c, status);
    });
}

#pragma weak MPI_Sendrecv_replace = PMPI_Sendrecv_replace
int PMPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
    return api("MPI_Sendrecv_replace", comm, [&](Communicator& c) {
        LayoutHold hold;
        check_send(buf, count, datatype, dest, sendtag, c);
        const Datatype& type = check_receive(buf, count, datatype, source, recvtag, c);
        const auto in = buffer_of(buf, std::size_t(count), type, hold);
        Copy copy(in);
        exchange("MPI_Sendrecv_replace", copy.buffer(), dest, sendtag, in, source, recvtag, c,
                 status);
    });
}

#pragma weak MPI_Isendrecv = PMPI_Isendrecv
int PMPI_Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request* request) {
    return api("MPI_Isendrecv", comm, [&](Communicator& c) {
        check_output("request", request);
        LayoutHold hold_out;
        LayoutHold hold_in;
        const Datatype& sent = check_send(sendbuf, sendcount, sendtype, dest, sendtag, c);
        const Datatype& received = check_receive(recvbuf, recvcount, recvtype, source, recvtag, c);
        const auto out = buffer_of(sendbuf, std::size_t(sendcount), sent, hold_out);
        const auto in = buffer_of(recvbuf, std::size_t(recvcount), received, hold_in);
        *request = handle_of(begin_exchange("MPI_Isendrecv", out, dest, sendtag, in, source,
                                            recvtag, c, hold_out, hold_in, nullptr));
    });
}

#pragma weak MPI_Isendrecv_replace = PMPI_Isendrecv_replace
int PMPI_Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
    return api("MPI_Isendrecv_replace", comm, [&](Communicator& c) {
        check_output("request", request);
        LayoutHold hold;
        check_send(buf, count, datatype, dest, sendtag, c);
        const Datatype& type = check_receive(buf, count, datatype, source, recvtag, c);
        const auto in = buffer_of(buf, std::size_t(count), type, hold);
        auto copy = std::make_unique<std::byte[]>(in.bytes);
        in.pack(0, copy.get(), in.bytes);
        const core::Buffer out(static_cast<void*>(copy.get()), in.bytes);
        *request = handle_of(begin_exchange("MPI_Isendrecv_replace", out, dest, sendtag, in, source,
                                            recvtag, c, nullptr, hold, std::move(copy)));
    });
}
}
