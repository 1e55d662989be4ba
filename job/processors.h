// SPDX-License-Identifier: BSD-3-Clause
// The processors on which the ranks of this host run, and whether the ranks outnumber them. Each
// rank may be bound to a part of them, so the launcher, which is not bound, is asked too.
//
// Free functions without state; any thread may call.
#pragma once

#include "config/cpus.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

config::CpuList processors_of_job();
// The number of these processors, or less if the cgroup grants less time.
double processor_count(const config::CpuList& processors);

// Whether more ranks than processors share the same processors, including ranks of other hosts that
// are containers or network namespaces of the same machine.
struct CoreSharing {
    bool here = false;       // on those of this host
    bool somewhere = false;  // on those of any of several hosts; the same on all ranks
};
// Collective. `joined` means that the ranks were started by different launchers, which may be bound
// differently.
CoreSharing find_core_sharing(launch::Bootstrap& bootstrap, bool joined);

}  // namespace torusmp::job
