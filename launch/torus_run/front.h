// The front: the process that the user sees. It owns the terminal and the user's signals, and
// becomes the parent of the keeper.
#pragma once

#include "launch/torus_run/job.h"

namespace torusmp::launch {

// Runs the job; returns torus-run's exit code. To be called once, from a process with one thread.
int run_job(const Job& job);

}  // namespace torusmp::launch
