// SPDX-License-Identifier: BSD-3-Clause
// session_api() runs the body of an MPI function on a session, and passes its errors to the
// session's error handler.
#pragma once

#include "mpi11/error/check.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {

inline Session& checked_session(MPI_Session handle) {
    Session& session = checked<Session>(handle);
    if (!session.open) fail(MPI_ERR_SESSION, "found a session that has been finalized");
    return session;
}

template <class Body>
int session_api(const char* call, MPI_Session handle, Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    Reference<Session> session;
    try {
        session = Reference<Session>(checked_session(handle));
        body(*session);
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        if (!session) return raise(call, nullptr, error);
        return raise(call, session->error_handler, handle, "the session", error);
    }
}

}  // namespace torusmp::mpi
