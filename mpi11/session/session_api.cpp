// SPDX-License-Identifier: BSD-3-Clause
// Sessions (MPI-4.1, section 11.3): their beginning and end, process sets, errors, buffers.
#include <algorithm>
#include <string>
#include <utility>

#include "job/settings.h"
#include "mpi11/comm/creation.h"
#include "mpi11/comm/group.h"
#include "mpi11/entry.h"
#include "mpi11/environment/info.h"
#include "mpi11/environment/instance.h"
#include "mpi11/error/error_codes.h"
#include "mpi11/pt2pt/buffered.h"
#include "mpi11/session/process_sets.h"
#include "mpi11/session/session_call.h"

namespace torusmp::mpi {
namespace {

struct Level {
    const char* name;
    int level;
};
constexpr Level levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                            {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                            {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                            {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

// A value that is not a level is a hint that is ignored.
int wanted_level(MPI_Info info) {
    for (const auto& [key, value] : entries_of(info))
        if (key == "thread_level")
            for (const Level& known : levels)
                if (value == known.name) return known.level;
    return MPI_THREAD_SINGLE;
}

std::string name_of_level(int level) {
    return std::find_if(std::begin(levels), std::end(levels),
                        [&](const Level& known) { return known.level == level; })
        ->name;
}

// The communicators of the session that the program has not freed; those of files end with them.
std::vector<Communicator*> living(const Session& session) {
    std::vector<Communicator*> found;
    Slab<Communicator>::only().for_each([&](Communicator& comm) {
        if (comm.session.get() == &session && !comm.freed && comm.error_object == nullptr)
            found.push_back(&comm);
    });
    return found;
}

void finalize(Session& session) {
    constexpr const char* call = "MPI_Session_finalize";
    const std::vector<Communicator*> comms = living(session);
    if (!comms.empty() && library().process->settings()[job::setting::mpi_check])
        fmt::print(stderr, "{}: rank {}: communicators not freed: {}\n", call, runtime().rank(),
                   comms.size());
    for (Communicator* const comm : comms) disconnect(*comm, call);
    detach_buffer(call, session.buffer.get());
    session.open = false;
    close_session();
}

Members set_of(const char* name) {
    check_output("pset_name", name);
    auto found = process_set(name);
    if (!found)
        fail(MPI_ERR_ARG, "found process set \"{}\", expected one of: {}", name,
             fmt::join(names_of_process_sets(), ", "));
    return *std::move(found);
}

void copy_set_name(const std::string& name, int* length, char* text) {
    check_output("pset_len", length);
    if (*length < 0) fail(MPI_ERR_ARG, "found length {}, expected 0 or more", *length);
    if (*length > 0) {
        check_output("pset_name", text);
        const std::size_t copied = std::min(name.size(), std::size_t(*length) - 1);
        std::copy_n(name.data(), copied, text);
        text[copied] = '\0';
    }
    *length = int(name.size()) + 1;
}

template <class Count>
int attach(const char* call, MPI_Session handle, void* buffer, Count size) {
    return session_api(call, handle,
                       [&](Session& session) { attach_buffer(session.buffer, buffer, size); });
}

template <class Count>
int detach(const char* call, MPI_Session handle, void* buffer_addr, Count* size) {
    return session_api(call, handle, [&](Session& session) {
        detach_buffer(call, session.buffer.get(), buffer_addr, size);
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

TORUSMP_ENTRIES(Session_attach_buffer, (MPI_Session session, void* buffer, Count size),
                attach(name, session, buffer, size))
TORUSMP_ENTRIES(Session_detach_buffer, (MPI_Session session, void* buffer_addr, Count* size),
                detach(name, session, buffer_addr, size))

extern "C" {

#pragma weak MPI_Session_init = PMPI_Session_init
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    constexpr const char* call = "MPI_Session_init";
    if (session != nullptr) *session = MPI_SESSION_NULL;
    return api_at_any_time(call, [&] {
        const int provided = open_session(wanted_level(info), call);
        try {
            check_output("session", session);
            *session = handle_of(make<Session>(checked<ErrorHandler>(errhandler), provided));
        } catch (...) {
            close_session();
            throw;
        }
    });
}

#pragma weak MPI_Session_finalize = PMPI_Session_finalize
int PMPI_Session_finalize(MPI_Session* session) {
    return session_api("MPI_Session_finalize", session == nullptr ? MPI_SESSION_NULL : *session,
                       [&](Session& ended) {
                           finalize(ended);
                           release(ended);
                           *session = MPI_SESSION_NULL;
                       });
}

#pragma weak MPI_Session_get_info = PMPI_Session_get_info
int PMPI_Session_get_info(MPI_Session session, MPI_Info* info_used) {
    return session_api("MPI_Session_get_info", session, [&](Session& s) {
        check_output("info_used", info_used);
        *info_used =
            handle_of(make<Info>(Info::Entries{{"thread_level", name_of_level(s.thread_level)}}));
    });
}

#pragma weak MPI_Session_get_num_psets = PMPI_Session_get_num_psets
int PMPI_Session_get_num_psets(MPI_Session session, MPI_Info, int* npset_names) {
    return session_api("MPI_Session_get_num_psets", session, [&](Session&) {
        check_output("npset_names", npset_names);
        *npset_names = int(names_of_process_sets().size());
    });
}

#pragma weak MPI_Session_get_nth_pset = PMPI_Session_get_nth_pset
int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info, int n, int* pset_len,
                              char* pset_name) {
    return session_api("MPI_Session_get_nth_pset", session, [&](Session&) {
        const auto names = names_of_process_sets();
        if (n < 0 || std::size_t(n) >= names.size())
            fail(MPI_ERR_ARG, "found set {}, expected 0 to {}", n, names.size() - 1);
        copy_set_name(names[std::size_t(n)], pset_len, pset_name);
    });
}

#pragma weak MPI_Session_get_pset_info = PMPI_Session_get_pset_info
int PMPI_Session_get_pset_info(MPI_Session session, const char* pset_name, MPI_Info* info) {
    return session_api("MPI_Session_get_pset_info", session, [&](Session&) {
        check_output("info", info);
        const Members members = set_of(pset_name);
        *info = handle_of(make<Info>(Info::Entries{{"mpi_size", std::to_string(members.size())}}));
    });
}

#pragma weak MPI_Group_from_session_pset = PMPI_Group_from_session_pset
int PMPI_Group_from_session_pset(MPI_Session session, const char* pset_name, MPI_Group* newgroup) {
    return session_api("MPI_Group_from_session_pset", session, [&](Session& s) {
        check_output("newgroup", newgroup);
        *newgroup =
            make_group(hot.world->world()->roster(), set_of(pset_name), Reference<Session>(s));
    });
}

#pragma weak MPI_Session_create_errhandler = PMPI_Session_create_errhandler
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function* function,
                                   MPI_Errhandler* errhandler) {
    return api_at_any_time("MPI_Session_create_errhandler", [&] {
        create_error_handler("session_errhandler_fn", function, errhandler);
    });
}

#pragma weak MPI_Session_set_errhandler = PMPI_Session_set_errhandler
int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler) {
    return session_api("MPI_Session_set_errhandler", session, [&](Session& s) {
        s.error_handler = Reference<ErrorHandler>(checked<ErrorHandler>(errhandler));
    });
}

#pragma weak MPI_Session_get_errhandler = PMPI_Session_get_errhandler
int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler* errhandler) {
    return session_api("MPI_Session_get_errhandler", session,
                       [&](Session& s) { get_error_handler(*s.error_handler, errhandler); });
}

#pragma weak MPI_Session_call_errhandler = PMPI_Session_call_errhandler
int PMPI_Session_call_errhandler(MPI_Session session, int errorcode) {
    constexpr const char* call = "MPI_Session_call_errhandler";
    return session_api(call, session, [&](Session& s) {
        check_error_code(errorcode);
        raise_for_program(call, s.error_handler, session, "the session", errorcode);
    });
}

#pragma weak MPI_Session_flush_buffer = PMPI_Session_flush_buffer
int PMPI_Session_flush_buffer(MPI_Session session) {
    constexpr const char* call = "MPI_Session_flush_buffer";
    return session_api(call, session, [&](Session& s) { flush_buffer(call, s.buffer.get()); });
}

#pragma weak MPI_Session_iflush_buffer = PMPI_Session_iflush_buffer
int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request* request) {
    constexpr const char* call = "MPI_Session_iflush_buffer";
    return session_api(call, session, [&](Session& s) {
        check_output("request", request);
        *request = flush_later(call, s.buffer);
    });
}
}
