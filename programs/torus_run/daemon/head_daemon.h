// SPDX-License-Identifier: BSD-3-Clause
// The daemon: the process that starts the ranks of its host, serves them and ends them.
//
// On every host torus-run is two processes. The front owns the terminal and the user's signals, or
// on the other hosts the pipes to the agent; the daemon is its child, the parent of the ranks and
// the subreaper of all their descendants. If one of the two is killed, the other ends all
// descendants; if both are, the lifeline pipe ends the ranks. The daemon on the user's host is the
// head: it starts the daemons of the other hosts through the agent, and makes all decisions. A
// daemon that loses the head, or receives nothing from it for transport.timeout, ends everything
// that it started; where the torus is the only network, it first waits for another daemon to join
// it.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <csignal>

#include "base/descriptor.h"
#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

struct DaemonContext {
    base::Descriptor
        front;  // datagrams of one int from the front, a signal number; end of file: it died
    base::Descriptor lifeline_read;   // reopened for every rank
    base::Descriptor lifeline_write;  // held by front and daemon only
    base::Descriptor
        ending;              // a file for leave_ending(); at the head of a job that may start again
    int standard_input = 0;  // standard input of rank 0
    sigset_t signals;        // signal mask of the user's program
    rlimit files;            // limit of open files of the user's program
};

// Time limit for processes that the kernel does not release.
inline constexpr std::chrono::milliseconds kill_timeout{5000};

// Runs as the head: runs the job to its end and returns the exit code of torus-run. All descendants
// have ended when it returns.
int run_head(const Job& job, DaemonContext context);

// Runs on another host: follows the head's commands, which arrive on standard input. The head is
// considered dead after a silence of `timeout`.
int run_remote_host(std::chrono::milliseconds timeout, DaemonContext context);

}  // namespace torusmp::torus_run
