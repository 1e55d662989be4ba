// SPDX-License-Identifier: BSD-3-Clause
// The object behind an MPI_Session (MPI-4.1, section 11.3): one of any number of users of this
// process's membership in the job (environment/instance.h).
//
// Groups and communicators that come from a session refer to it, so it lives as long as they do; its
// handle ends at MPI_Session_finalize. Any thread may create and finalize sessions.
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
    std::shared_ptr<SendBuffer> buffer;  // null if none was attached yet
    bool open = true;                    // until MPI_Session_finalize
};

}  // namespace torusmp::mpi
