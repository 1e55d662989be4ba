// SPDX-License-Identifier: BSD-3-Clause
// Starts a job, and starts it again when something of it dies (--restart-on-death).
#pragma once

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/front/options.h"

namespace torusmp::torus_run {

// Runs the job that was planned from the options, with its restarts. Returns the exit code of the
// last start, with which torus-run ends. Prints a line for each restart.
int run_with_restarts(const Options& options, Job job);

}  // namespace torusmp::torus_run
