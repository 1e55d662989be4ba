// SPDX-License-Identifier: BSD-3-Clause
// The daemon: the process that starts the ranks of its host, listens to them and ends them.
//
// On every host torus-run is two processes. The front owns the terminal and the user's signals, or
// on the other hosts the end of the agent; the daemon is its child, the parent of the ranks and the
// subreaper of everything that they start. Whichever of the two is killed, the other ends all
// descendants; if both are, the lifeline pipe ends the ranks. The daemon on the user's host is the
// head: it starts the daemons of the other hosts through the agent, and decides. A daemon that
// loses the head, or hears nothing from it for transport.timeout, ends everything that it started;
// over the cables of a torus it waits then to be joined again, by another one.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <csignal>

#include "base/descriptor.h"
#include "programs/torus_run/front/job.h"

namespace torusmp::launch {

struct DaemonContext {
    base::Descriptor
        front;  // datagrams of one int from the front, a signal number; end of file: it died
    base::Descriptor lifeline_read;   // reopened for every rank
    base::Descriptor lifeline_write;  // held by front and daemon only
    int standard_input = 0;           // what rank 0 reads from
    sigset_t signals;                 // the mask with which the user's program starts
    rlimit files;                     // and its limit of open files
};

// For processes that the kernel does not let go of.
inline constexpr std::chrono::milliseconds kill_patience{5000};

// The head: runs the job to its end and returns the exit code of torus-run. No descendant is left
// then.
int run_head(const Job& job, DaemonContext context);

// On another host: does what the head tells it over standard input and output. `timeout`: of
// silence.
int run_remote_host(std::chrono::milliseconds timeout, DaemonContext context);

}  // namespace torusmp::launch
