// SPDX-License-Identifier: BSD-3-Clause
// The processors that each rank of a host may use.
//
// A launcher calls local_binding() once for all its ranks and binds its children to the lists
// before exec (Affinity in cpus.h). plan_binding() is the pure part. Any thread may call.
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
//   automatic  core; none for a rank that is alone, and where ranks need more than the usable cores
// `cores_each`: consecutive cores for each rank instead of one (core, automatic) or of a NUMA node
// (numa); 0 if not given.
// No two ranks share a core under `core`, and no NUMA node has more ranks than cores under `numa`,
// unless the ranks outnumber the cores.
std::vector<CpuList> plan_binding(const Host& host, int ranks, Bind policy, int cores_each = 0);

// The policy if each rank asks for a number of cores (0: it does not): automatic then binds every
// rank.
constexpr Bind policy_with(Bind policy, int cores_each) {
    return policy == Bind::automatic && cores_each > 0 ? Bind::core : policy;
}

// The binding for this host. Uses hwloc only if the answer depends on it. Throws HostError, also if
// `cores_each` is given, the policy is not automatic, and this host has too few cores.
std::vector<CpuList> local_binding(int ranks, Bind policy, int cores_each = 0);

// Binds the calling thread, and the threads and processes that it starts later. Throws HostError if
// the kernel refuses.
void bind_this_process(const CpuList& cpus);

}  // namespace torusmp::config
