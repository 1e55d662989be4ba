// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/units.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/pulse.h"

namespace torusmp::torus_run {

std::string stopped_front_message(int exit_code) {
    if (!is_stopped(getppid())) return {};
    return fmt::format(
        "torus-run: the job has ended with exit code {}, but torus-run (pid {}) is "
        "stopped: kill -CONT {} lets it exit\n",
        exit_code, getppid(), getppid());
}

std::string silent_host_message(const std::string& host, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "torus-run: warning: host {} did not answer when the job ended: the last output of its "
        "ranks may be missing; processes left there end by themselves within {}\n",
        host, base::format_time(timeout + Pulse::login_timeout(timeout)));
}

std::string own_sleep_message(std::chrono::nanoseconds slept, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "gave up on torus-run: the daemon process on this host (pid {}) did not run for {:.1f} s, "
        "longer than transport.timeout = {}",
        getpid(), std::chrono::duration<double>(slept).count(), base::format_time(timeout));
}

}  // namespace torusmp::torus_run
