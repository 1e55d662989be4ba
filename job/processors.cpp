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
#include "launch/environment.h"

namespace torusmp::job {

namespace {

// The parent, unless torus-run has left its name: between the two may be scripts, which are bound
// as the rank is.
pid_t launcher() {
    const char* const name = std::getenv(launch::env_launcher);
    const pid_t process = name != nullptr ? pid_t(std::atoi(name)) : 0;
    return process > 0 ? process : getppid();
}

}  // namespace

config::CpuList processors_of_job() {
    config::CpuList own = config::allowed_cpus();
    config::CpuList launchers = config::allowed_cpus(launcher());
    return launchers.size() > own.size() ? launchers : own;
}

double processor_count(const config::CpuList& processors) {
    const auto count = double(processors.size());
    const auto quota = config::cpu_quota();
    return quota ? std::min(count, *quota) : count;
}

CoreSharing find_core_sharing(launch::Bootstrap& bootstrap, bool joined) {
    const config::CpuList processors = processors_of_job();
    const double count = processor_count(processors);
    const auto local = bootstrap.local_ranks().size();
    CoreSharing found{double(local) > count, false};
    const bool one_host = int(local) == bootstrap.size();
    if (one_host && !joined) return found;
    const std::string mine =
        fmt::format("{} {} {}", count, config::this_machine(), config::describe_cpus(processors));
    std::map<std::string, int> ranks;  // by their reported processors
    for (const auto& it : bootstrap.exchange(std::as_bytes(std::span(mine))))
        if (!it.empty()) ++ranks[{reinterpret_cast<const char*>(it.data()), it.size()}];
    if (one_host) {
        // The choice of collective algorithms must be the same on all ranks.
        double least = count;
        for (const auto& it : ranks)
            least = std::min(least, std::strtod(it.first.c_str(), nullptr));
        found.here = double(local) > least;
        return found;
    }
    found.here = found.here || ranks[mine] > count;
    for (const auto& [cpus, sharing] : ranks)
        found.somewhere = found.somewhere || sharing > std::strtod(cpus.c_str(), nullptr);
    return found;
}

}  // namespace torusmp::job
