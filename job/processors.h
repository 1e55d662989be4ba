// SPDX-License-Identifier: BSD-3-Clause
// The processors on which the ranks of this host run, and how many ranks share them. Each rank may
// be bound to a part of them, so the launcher, which is not bound, is asked too.
//
// Free functions without state; any thread may call.
#pragma once

#include "config/cpus.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

config::CpuList processors_of_job();
// How many these are, or fewer if the cgroup grants less time.
double processor_count_of_job();
// How many ranks of the job run on them: those of this host, and those of hosts that are containers
// or network namespaces of the same machine. Collective.
int ranks_on_processors(launch::Bootstrap& bootstrap);

}  // namespace torusmp::job
