// SPDX-License-Identifier: BSD-3-Clause
// The front: the process that the user or an agent started. It becomes the parent of the daemon;
// see head_daemon.h.
#pragma once

#include <chrono>
#include <optional>

#include "programs/torus_run/daemon/ending.h"
#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

struct JobResult {
    int code = 0;                     // torus-run's exit code
    std::optional<JobEnding> ending;  // of a job that may start again; nothing if its daemon died
    bool user_ended = false;          // a signal asked for the end of the job
};

// Owns the terminal and the user's signals, and runs the job. To be called from a process with one
// thread; again only to start the job again.
JobResult run_job(const Job& job);

// Runs on a host that an agent reached: guards the daemon there, which talks to the head over
// standard input and output. The daemon or the head is considered dead after a silence of
// `timeout`.
int run_remote_daemon(std::chrono::milliseconds timeout);

}  // namespace torusmp::torus_run
