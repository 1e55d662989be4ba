// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/units.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/pulse.h"

namespace torusmp::launch {

std::string word_for_stopped_front(int exit_code) {
    if (!is_stopped(getppid())) return {};
    return fmt::format(
        "torus-run: the job has ended with exit code {}, but torus-run (pid {}) is "
        "stopped: kill -CONT {} lets it end too\n",
        exit_code, getppid(), getppid());
}

std::string word_for_silent_host(const std::string& host, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "torus-run: warning: host {} did not answer when the job ended: what its ranks printed "
        "last may be missing, and what is left there ends by itself within {}\n",
        host, base::format_time(timeout + Pulse::patience_of_login(timeout)));
}

std::string word_for_own_sleep(std::chrono::nanoseconds slept, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "gave up torus-run, whose daemon process here (pid {}) stood still for {:.1f} s, longer "
        "than transport.timeout = {} allows",
        getpid(), std::chrono::duration<double>(slept).count(), base::format_time(timeout));
}

}  // namespace torusmp::launch
