// SPDX-License-Identifier: BSD-3-Clause
// Events of the tools interface: each change of a cable of this rank calls the callbacks that tools
// have registered for it.
//
// An event is raised under the Runtime's lock, perhaps in the progress thread. Callbacks that were
// registered as safe there (MPI_T_CB_REQUIRE_THREAD_SAFE or stronger) are called immediately. The
// others are called when a thread of the program next calls MPI. Any thread may call these functions.
#pragma once

#include "mpi11/tool/tool.h"
#include "routing/torus.h"

namespace torusmp::mpi::tool {

// Starts to raise events. To be called when the process has joined a job.
void watch_job();
// The state of a link in its last event; link_absent if there was none.
LinkState last_state(routing::Direction link);
// Calls the callbacks that wait for a thread of the program.
void deliver_events();

}  // namespace torusmp::mpi::tool
