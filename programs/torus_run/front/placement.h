// SPDX-License-Identifier: BSD-3-Clause
// Decides on which hosts of the machine a job runs: at its start, while spares wait, and again
// after hosts have died.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/front/options.h"

namespace torusmp::torus_run {

// The settings of the job: those of the command line, the environment and the geometry file, fitted
// to the hosts and ranks of this start. Throws config::UsageError or ConfigError; for a restart, if
// the hosts that are left cannot run the job.
config::Settings place_job(const Options& options, const std::string& self, const Restart& restart);

// The number of ranks on the command line, if given.
std::optional<int> ranks_asked(const Options& options);
// Whether a restart may have fewer ranks: neither -np nor the program's -qmp-geom sets their
// number.
bool may_shrink(const Options& options);
bool is_this_host(const std::string& name, const std::string& self);

// "n8 takes the place of n5": where a job starts again.
std::string describe_placement(const Job& before, const Job& now);

}  // namespace torusmp::torus_run
