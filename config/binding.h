// SPDX-License-Identifier: BSD-3-Clause
// Which processors each rank of a host may use.
//
// A launcher calls local_binding() once for all its ranks and puts the lists on its children before
// exec (Affinity in cpus.h). plan_binding() is the pure part. Any thread may call.
#pragma once

#include <vector>

#include "config/cpus.h"
#include "config/host.h"

namespace torusmp::config {

enum class Bind { automatic, core, numa, none };

// The processors of each of `ranks` local ranks, by local rank; an empty list: not bound.
//   core       rank i on the i-th core, with all its hardware threads; where ranks outnumber cores,
//              consecutive ranks share one
//   numa       ranks spread over the NUMA nodes by their cores, consecutive ranks together, each
//              free on its node
//   none       not bound
//   automatic  core; none where ranks outnumber the usable cores
// No two ranks share a core under `core`, and no NUMA node has more ranks than cores under `numa`,
// unless the ranks outnumber the cores.
std::vector<CpuList> plan_binding(const Host& host, int ranks, Bind policy);

// The same for this host. Asks hwloc only if the answer depends on it. Throws HostError.
std::vector<CpuList> local_binding(int ranks, Bind policy);

// Binds the calling thread, and the threads and processes that it starts later. Throws HostError if
// the kernel refuses.
void bind_this_process(const CpuList& cpus);

}  // namespace torusmp::config
