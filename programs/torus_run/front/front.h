// SPDX-License-Identifier: BSD-3-Clause
// The front: the process that the user or an agent started. It becomes the parent of the daemon;
// see head_daemon.h.
#pragma once

#include <chrono>

#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

// Owns the terminal and the user's signals, runs the job and returns torus-run's exit code. Call
// each of the two functions at most once, from a process with one thread.
int run_job(const Job& job);

// On a host that an agent reached: guards the daemon there, which talks to the head over standard
// input and output. `timeout` is the silence after which the daemon or the head is considered dead.
int run_remote_daemon(std::chrono::milliseconds timeout);

}  // namespace torusmp::torus_run
