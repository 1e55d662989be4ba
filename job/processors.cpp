// SPDX-License-Identifier: BSD-3-Clause
#include "job/processors.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>

#include "config/network.h"

namespace torusmp::job {

config::CpuList processors_of_job() {
    config::CpuList own = config::allowed_cpus();
    config::CpuList launchers = config::allowed_cpus(getppid());
    return launchers.size() > own.size() ? launchers : own;
}

double processor_count_of_job() {
    const auto count = double(processors_of_job().size());
    const auto quota = config::cpu_quota();
    return quota ? std::min(count, *quota) : count;
}

int ranks_on_processors(launch::Bootstrap& bootstrap) {
    const int local = int(bootstrap.local_ranks().size());
    if (local == bootstrap.size()) return local;
    const std::string machine = config::this_machine();
    const std::string text = machine + ' ' + config::describe_cpus(processors_of_job());
    const auto mine = std::as_bytes(std::span(text));
    const auto all = bootstrap.exchange(mine);
    if (machine.empty()) return local;
    return std::max(local, int(std::count_if(all.begin(), all.end(), [&](const auto& it) {
                        return std::ranges::equal(it, mine);
                    })));
}

}  // namespace torusmp::job
