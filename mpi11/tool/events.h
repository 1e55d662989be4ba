// SPDX-License-Identifier: BSD-3-Clause
// Events: what happens to the cables of this rank, as callbacks of tools.
//
// An event is raised under the Runtime's lock, perhaps in the progress thread. Callbacks that may be
// called there (MPI_T_CB_REQUIRE_THREAD_SAFE and stronger) are; others wait until a thread of the
// program calls MPI the next time. Any thread may call.
#pragma once

#include "mpi11/tool/tool.h"
#include "routing/torus.h"

namespace torusmp::mpi::tool {

// Has this process raise events from now on; for a job that has just been joined.
void watch_job();
// What was last told of a link; link_absent if nothing was.
LinkState last_state(routing::Direction link);
// Calls the callbacks that wait, if there are any.
void deliver_events();

}  // namespace torusmp::mpi::tool
