// SPDX-License-Identifier: BSD-3-Clause
// Builds the job from the command line and the settings.
#pragma once

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/front/options.h"

namespace torusmp::torus_run {

// `restart` contains what a job that starts again knows of its hosts. Throws config::UsageError or
// ConfigError for every mistake that can be found before the start.
Job plan_job(const Options& options, const Restart& restart = {});
// The ranks of each host, a line each, for --display-map.
std::string describe_map(const Job& job);

}  // namespace torusmp::torus_run
