// SPDX-License-Identifier: BSD-3-Clause
// The processors on which the ranks of this host run, and whether these outnumber them. Each rank
// may be bound to a part of them, so the launcher, which is not bound, is asked too.
//
// Free functions without state; any thread may call.
#pragma once

#include "config/cpus.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

config::CpuList processors_of_job();
// How many these are, or fewer if the cgroup grants less time.
double processor_count(const config::CpuList& processors);

// Whether more ranks run on some processors than these are, those of other hosts included that are
// containers or network namespaces of the same machine.
struct Crowds {
    bool here = false;       // on those of this host
    bool somewhere = false;  // on those of any host, where there are several; alike on all ranks
};
// Collective.
Crowds find_crowds(launch::Bootstrap& bootstrap);

}  // namespace torusmp::job
