// SPDX-License-Identifier: BSD-3-Clause
// The object behind an MPI_Session (MPI-4.1, section 11.3). A process may have any number of
// sessions; while it has one, it is a member of the job (environment/instance.h).
//
// The handle is valid until MPI_Session_finalize. The object lives longer if groups or communicators
// of the session exist, which refer to it. Any thread may create and finalize sessions.
#pragma once

#include <memory>

#include "mpi11/error/error_handler.h"
#include "mpi11/object.h"

namespace torusmp::mpi {

class SendBuffer;  // pt2pt/buffered.h

class Session : public Object {
  public:
    using Handle = MPI_Session;
    static constexpr Kind kind_of_class = Kind::session;
    static constexpr int error_class = MPI_ERR_SESSION;
    static inline const Handle null_handle = MPI_SESSION_NULL;
    static constexpr const char* null_name = "MPI_SESSION_NULL";
    static constexpr const char* noun = "session";
    static constexpr bool at_any_time = true;

    Session(ErrorHandler& handler, int level)
        : Object(kind_of_class), error_handler(handler), thread_level(level) {}

    Reference<ErrorHandler> error_handler;
    const int thread_level;
    std::shared_ptr<SendBuffer> buffer;  // null until one is attached
    bool open = true;                    // until MPI_Session_finalize
};

}  // namespace torusmp::mpi
