// SPDX-License-Identifier: BSD-3-Clause
// This process's membership in the job. The world model (MPI_Init to MPI_Finalize) and any number
// of sessions use it: the first of them joins the job.
//
// The job is left by MPI_Finalize, or when the process exits if it has ever had a session, since a
// session may follow at any time. The first session after MPI_Finalize joins the job again. Joining
// waits for all ranks of the job; leaving does, too. Any thread may open and close sessions.
#pragma once

namespace torusmp::mpi {

// Between MPI_Init and MPI_Finalize.
bool in_world();
// The world model; returns the thread level. Ends the process with a message if it has ended
// before, or the job cannot be joined. Precondition: it has not begun.
int begin_world(int level, const char* call);
// Throws Failure if ranks disagree on the order of their collectives.
void end_world();

// Returns the thread level of the session.
int open_session(int level, const char* call);
void close_session();

// Whether MPI is running, whatever hot.running is.
bool in_effect();
// The next call delivers events (tool/events.h).
void want_attention();
// Returns true if events waited, and were delivered, and MPI is running.
bool give_attention();

bool had_sessions();

}  // namespace torusmp::mpi
