// SPDX-License-Identifier: BSD-3-Clause
#include "config/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace torusmp::config {

namespace {

// Deals ranks over cores in order, as evenly as possible: each gets a core of its own while there
// are enough, and no part of the list gets more ranks than cores as long as that is possible.
std::size_t share(int rank, int ranks, std::size_t cores) {
    return std::size_t(std::uint64_t(rank) * cores / std::uint64_t(ranks));
}

CpuList cpus_of_numa(const Host& host, int numa) {
    CpuList cpus;
    for (const Core& core : host.cores)
        if (core.numa == numa) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    std::sort(cpus.begin(), cpus.end());
    return cpus;
}

}  // namespace

std::vector<CpuList> plan_binding(const Host& host, int ranks, Bind policy) {
    std::vector<CpuList> plan(std::size_t(std::max(ranks, 0)));
    if (policy == Bind::automatic) policy = ranks <= host.usable_cores() ? Bind::core : Bind::none;
    if (policy == Bind::none || host.cores.empty()) return plan;
    const std::size_t cores = host.cores.size();
    for (int rank = 0; rank < ranks; ++rank) {
        CpuList& mine = plan[std::size_t(rank)];
        const std::size_t dealt = share(rank, ranks, cores);
        if (policy == Bind::numa)
            mine = cpus_of_numa(host, host.cores[dealt].numa);
        else if (std::size_t(ranks) <= cores)
            // Side by side, not spread: ranks with neighbouring numbers talk most.
            mine = host.cores[std::size_t(rank)].cpus;
        else
            mine = host.cores[dealt].cpus;
    }
    return plan;
}

std::vector<CpuList> local_binding(int ranks, Bind policy) {
    const std::vector<CpuList> unbound(std::size_t(std::max(ranks, 0)));
    if (policy == Bind::none || ranks < 1) return unbound;
    // More ranks than hardware threads means more ranks than cores: no need to look closer.
    if (policy == Bind::automatic && std::size_t(ranks) > allowed_cpus().size()) return unbound;
    return plan_binding(discover_cores(), ranks, policy);
}

void bind_this_process(const CpuList& cpus) {
    if (const int error = Affinity(cpus).apply())
        throw HostError(fmt::format("cannot bind this process to the processors {}: {}",
                                    describe_cpus(cpus), std::strerror(error)));
}

}  // namespace torusmp::config
