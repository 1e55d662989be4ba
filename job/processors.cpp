// SPDX-License-Identifier: BSD-3-Clause
#include "job/processors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "config/network.h"

namespace torusmp::job {

config::CpuList processors_of_job() {
    config::CpuList own = config::allowed_cpus();
    config::CpuList launchers = config::allowed_cpus(getppid());
    return launchers.size() > own.size() ? launchers : own;
}

double processor_count(const config::CpuList& processors) {
    const auto count = double(processors.size());
    const auto quota = config::cpu_quota();
    return quota ? std::min(count, *quota) : count;
}

Crowds find_crowds(launch::Bootstrap& bootstrap) {
    const config::CpuList processors = processors_of_job();
    const double count = processor_count(processors);
    const auto local = bootstrap.local_ranks().size();
    Crowds crowds{double(local) > count, false};
    if (int(local) == bootstrap.size()) return crowds;
    const std::string mine =
        fmt::format("{} {} {}", count, config::this_machine(), config::describe_cpus(processors));
    std::map<std::string, int> ranks;  // by their reported processors
    for (const auto& it : bootstrap.exchange(std::as_bytes(std::span(mine))))
        if (!it.empty()) ++ranks[{reinterpret_cast<const char*>(it.data()), it.size()}];
    crowds.here = crowds.here || ranks[mine] > count;
    for (const auto& [cpus, sharing] : ranks)
        crowds.somewhere = crowds.somewhere || sharing > std::strtod(cpus.c_str(), nullptr);
    return crowds;
}

}  // namespace torusmp::job
