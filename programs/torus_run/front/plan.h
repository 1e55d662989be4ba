// SPDX-License-Identifier: BSD-3-Clause
// From the command line and the settings to what is to be started.
#pragma once

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/front/options.h"

namespace torusmp::launch {

// Throws config::UsageError or ConfigError for every mistake that can be known before the start.
Job plan_job(const Options& options);

}  // namespace torusmp::launch
