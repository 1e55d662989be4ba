// The front: the process that the user, or an agent, started. It becomes the parent of the keeper;
// see keeper.h.
#pragma once

#include <chrono>

#include "programs/torus_run/front/job.h"

namespace torusmp::launch {

// Owns the terminal and the user's signals, runs the job and returns torus-run's exit code. To be
// called once, from a process with one thread; so is the other.
int run_job(const Job& job);

// On a host that an agent reached: stands guard over the keeper there, which talks to the head over
// standard input and output. `timeout`: after this long without a word the keeper, or the head, is
// taken for dead.
int run_remote_keeper(std::chrono::milliseconds timeout);

}  // namespace torusmp::launch
