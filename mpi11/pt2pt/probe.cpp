// SPDX-License-Identifier: BSD-3-Clause
// Probes for messages before they are received, with and without taking them (MPI-1.1, section 3.8;
// matched probes: MPI-3.1, section 3.8.2).
#include <array>
#include <optional>

#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

// A message that a matched probe has taken, until it is received.
class Message : public Object {
  public:
    using Handle = MPI_Message;
    static constexpr Kind kind_of_class = Kind::message;
    static constexpr int error_class = MPI_ERR_REQUEST;
    static inline const Handle null_handle = MPI_MESSAGE_NULL;
    static constexpr const char* null_name = "MPI_MESSAGE_NULL";
    static constexpr const char* noun = "message";

    Message(core::Unexpected& taken, Communicator& from)
        : Object(kind_of_class), claimed(taken), comm(from) {}
    core::Unexpected& claimed;
    Reference<Communicator> comm;
};

struct Wanted {
    Rank source;
    core::Tag tag;
};

Wanted wanted(const Communicator& comm, int source, int tag) {
    return {source == MPI_ANY_SOURCE ? core::any_source : comm.peer(source), core_tag(tag)};
}

void check(const Communicator& comm, int source, int tag) {
    check_source(comm, source);
    check_receive_tag(tag);
}

void set_found(MPI_Status* status, const core::Status& found, const Communicator& comm) {
    set_status(status, comm.rank_of(found.source), found.tag, found.bytes);
}

std::optional<core::Status> look(const Communicator& comm, const Wanted& what) {
    return comm.runtime().probe(what.source, comm.context(), what.tag);
}

// The message, taken; null if there is none yet.
core::Unexpected* take(const Communicator& comm, const Wanted& what) {
    return comm.runtime().claim(what.source, comm.context(), what.tag);
}

void hand_over(core::Unexpected& taken, Communicator& comm, MPI_Message* message,
               MPI_Status* status) {
    set_found(status, taken.status(), comm);
    *message = handle_of(make<Message>(taken, comm));
}

// The destination of a taken message.
template <class Count>
core::Buffer room(void* buffer, Count count, MPI_Datatype datatype, LayoutHold& hold) {
    check_count(count);
    const Datatype& type = committed(datatype);
    check_buffer(buffer, count, type);
    return buffer_of(buffer, std::size_t(count), type, hold);
}

// The message that a probe waits for, for reports.
class AwaitedMessage final : public core::Awaited {
  public:
    AwaitedMessage(const Communicator& comm, const Wanted& what) : comm_(comm), what_(what) {}
    void list(List& list) const override {
        list.operations.push_back({.kind = core::Waits::Operation::Kind::probe,
                                   .peer = what_.source,
                                   .context = comm_.context(),
                                   .tag = what_.tag});
    }

  private:
    const Communicator& comm_;
    const Wanted& what_;
};

// A dead source never sends: waiting for it would not end.
void check_alive(const Communicator& comm, int source) {
    if (comm.runtime().state().faults() == 0) return;
    check_not_revoked(comm);
    if (source == MPI_ANY_SOURCE) return check_any_source(comm);
    const std::array<Rank, 1> peer{comm.peer(source)};
    if (comm.runtime().state().lost_in(peer))
        fail(class_of_fault(core::Error::unreachable), "rank {} of {} has ended", source,
             comm.describe());
}

template <class Count>
int receive_taken(const char* call, void* buf, Count count, MPI_Datatype datatype,
                  MPI_Message* message, MPI_Status* status) {
    return api(call, [&] {
        check_output("message", message);
        LayoutHold hold;
        const core::Buffer buffer = room(buf, count, datatype, hold);
        if (*message == MPI_MESSAGE_NO_PROC) {
            *message = MPI_MESSAGE_NULL;
            return set_proc_null(status);
        }
        Message& taken = checked<Message>(*message);
        const Reference<Communicator> comm = taken.comm;
        core::ReceiveRequest request;
        comm->runtime().receive(request, buffer, taken.claimed);
        release(taken);
        *message = MPI_MESSAGE_NULL;
        comm->runtime().wait(request, call);
        set_received(status, request, *comm);
        check_received(request, *comm, hold);
    });
}

template <class Count>
int begin_receive_taken(const char* call, void* buf, Count count, MPI_Datatype datatype,
                        MPI_Message* message, MPI_Request* request) {
    return api(call, [&] {
        check_output("message", message);
        check_output("request", request);
        LayoutHold hold;
        const core::Buffer buffer = room(buf, count, datatype, hold);
        const bool null_message = *message == MPI_MESSAGE_NO_PROC;
        Message* const taken = null_message ? nullptr : &checked<Message>(*message);
        Request& made =
            Request::take(null_message ? Request::What::nothing : Request::What::receive, call,
                          null_message ? *hot.world : *taken->comm);
        made.is_receive = true;
        made.peer = null_message ? MPI_PROC_NULL : MPI_ANY_SOURCE;
        made.layout = std::move(hold);
        if (!null_message) {
            taken->comm->runtime().receive(made.receive, buffer, taken->claimed);
            release(*taken);
        }
        *message = MPI_MESSAGE_NULL;
        *request = handle_of(made);
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp;
using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Probe = PMPI_Probe
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    return api_with_others("MPI_Probe", comm, [&](Communicator& c) {
        check(c, source, tag);
        if (source == MPI_PROC_NULL) return set_proc_null(status);
        const Wanted what = wanted(c, source, tag);
        auto found = look(c, what);
        if (!found) {
            const AwaitedMessage awaited(c, what);
            c.runtime().wait_until(
                [&] {
                    found = look(c, what);
                    if (!found) check_alive(c, source);
                    return found.has_value();
                },
                "MPI_Probe", &awaited);
        }
        set_found(status, *found, c);
    });
}

#pragma weak MPI_Iprobe = PMPI_Iprobe
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    return api_with_others("MPI_Iprobe", comm, [&](Communicator& c) {
        check(c, source, tag);
        check_output("flag", flag);
        *flag = 1;
        if (source == MPI_PROC_NULL) return set_proc_null(status);
        const Wanted what = wanted(c, source, tag);
        auto found = look(c, what);
        if (!found) {
            c.runtime().progress_for("MPI_Iprobe", AwaitedMessage(c, what));
            found = look(c, what);
        }
        if (!found) check_alive(c, source);
        *flag = found ? 1 : 0;
        if (found) set_found(status, *found, c);
    });
}

#pragma weak MPI_Mprobe = PMPI_Mprobe
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    return api_with_others("MPI_Mprobe", comm, [&](Communicator& c) {
        check(c, source, tag);
        check_output("message", message);
        if (source == MPI_PROC_NULL) {
            *message = MPI_MESSAGE_NO_PROC;
            return set_proc_null(status);
        }
        const Wanted what = wanted(c, source, tag);
        core::Unexpected* taken = take(c, what);
        if (taken == nullptr) {
            const AwaitedMessage awaited(c, what);
            c.runtime().wait_until(
                [&] {
                    taken = take(c, what);
                    if (taken == nullptr) check_alive(c, source);
                    return taken != nullptr;
                },
                "MPI_Mprobe", &awaited);
        }
        hand_over(*taken, c, message, status);
    });
}

#pragma weak MPI_Improbe = PMPI_Improbe
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                 MPI_Status* status) {
    return api_with_others("MPI_Improbe", comm, [&](Communicator& c) {
        check(c, source, tag);
        check_output("flag", flag);
        check_output("message", message);
        *flag = 1;
        if (source == MPI_PROC_NULL) {
            *message = MPI_MESSAGE_NO_PROC;
            return set_proc_null(status);
        }
        const Wanted what = wanted(c, source, tag);
        core::Unexpected* taken = take(c, what);
        if (taken == nullptr) {
            c.runtime().progress_for("MPI_Improbe", AwaitedMessage(c, what));
            taken = take(c, what);
        }
        if (taken == nullptr) check_alive(c, source);
        *flag = taken != nullptr ? 1 : 0;
        if (taken != nullptr) hand_over(*taken, c, message, status);
    });
}
}

TORUSMP_ENTRIES(Mrecv,
                (void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                 MPI_Status* status),
                receive_taken(name, buf, count, datatype, message, status))
TORUSMP_ENTRIES(Imrecv,
                (void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                 MPI_Request* request),
                begin_receive_taken(name, buf, count, datatype, message, request))
