// SPDX-License-Identifier: BSD-3-Clause
#include "config/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace torusmp::config {

namespace {

// Distributes ranks over cores in order, as evenly as possible: each rank gets a core of its own
// while there are enough, and no part of the list gets more ranks than cores if that can be
// avoided.
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

std::vector<CpuList> plan_binding(const Host& host, int ranks, Bind policy, int cores_each) {
    std::vector<CpuList> plan(std::size_t(std::max(ranks, 0)));
    const std::size_t width(std::max(cores_each, 1)), cores = host.cores.size();
    const std::size_t needed = plan.size() * width;
    if (policy == Bind::automatic)
        policy = ranks > 1 && needed <= std::size_t(host.usable_cores()) ? Bind::core : Bind::none;
    if (policy == Bind::none || host.cores.empty()) return plan;
    for (int rank = 0; rank < ranks; ++rank) {
        CpuList& mine = plan[std::size_t(rank)];
        std::size_t first = share(rank, ranks, cores);
        if (policy == Bind::numa && cores_each == 0) {
            mine = cpus_of_numa(host, host.cores[first].numa);
            continue;
        }
        // Adjacent, not spread: ranks with neighbouring numbers exchange most data.
        if (policy == Bind::core && needed <= cores) first = std::size_t(rank) * width;
        const std::size_t end =
            needed <= cores ? first + width : std::max(first + 1, share(rank + 1, ranks, cores));
        for (std::size_t core = first; core < end; ++core)
            mine.insert(mine.end(), host.cores[core].cpus.begin(), host.cores[core].cpus.end());
        std::sort(mine.begin(), mine.end());
    }
    return plan;
}

std::vector<CpuList> local_binding(int ranks, Bind policy, int cores_each) {
    const std::vector<CpuList> unbound(std::size_t(std::max(ranks, 0)));
    if (policy == Bind::none || ranks < 1) return unbound;
    // No need to ask hwloc: a rank that is alone is free, and more ranks than hardware threads
    // means more ranks than cores.
    if (policy == Bind::automatic && (ranks == 1 || std::size_t(ranks) > allowed_cpus().size()))
        return unbound;
    const Host host = discover_cores();
    if (policy != Bind::automatic && std::int64_t(ranks) * cores_each > host.usable_cores())
        throw HostError(
            fmt::format("{} ranks with {} cores each need {} cores, but this host has "
                        "{}: expected fewer ranks or cores (launch.cpus_per_rank)",
                        ranks, cores_each, std::int64_t(ranks) * cores_each, host.usable_cores()));
    return plan_binding(host, ranks, policy, cores_each);
}

void bind_this_process(const CpuList& cpus) {
    if (const int error = Affinity(cpus).apply())
        throw HostError(fmt::format("cannot bind this process to processors {}: {}",
                                    describe_cpus(cpus), std::strerror(error)));
}

}  // namespace torusmp::config
