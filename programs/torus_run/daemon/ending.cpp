// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include "programs/torus_run/daemon/descendants.h"

namespace torusmp::launch {

std::string describe_end(const HostEnd& end, const std::string& host, bool orderly) {
    const std::string where = host.empty() ? "" : " on host " + host;
    const std::size_t left = end.left_behind.size();
    std::string text;
    if (orderly && left > 0)
        text +=
            fmt::format("torus-run: {} process{} that the ranks left behind{} {} ended: pid {}\n",
                        left, left == 1 ? "" : "es", where, left == 1 ? "was" : "were",
                        fmt::join(end.left_behind, ", "));
    if (!end.stuck.empty())
        text += fmt::format("torus-run: these processes{} cannot be killed: pid {}\n", where,
                            fmt::join(end.stuck, ", "));
    return text;
}

std::string word_for_stopped_front(int exit_code) {
    if (!is_stopped(getppid())) return {};
    return fmt::format(
        "torus-run: the job has ended with exit code {}, but torus-run (pid {}) is "
        "stopped: kill -CONT {} lets it end too\n",
        exit_code, getppid(), getppid());
}

}  // namespace torusmp::launch
