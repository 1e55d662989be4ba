// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include "programs/torus_run/daemon/descendants.h"

namespace torusmp::launch {

std::string word_for_stopped_front(int exit_code) {
    if (!is_stopped(getppid())) return {};
    return fmt::format(
        "torus-run: the job has ended with exit code {}, but torus-run (pid {}) is "
        "stopped: kill -CONT {} lets it end too\n",
        exit_code, getppid(), getppid());
}

}  // namespace torusmp::launch
