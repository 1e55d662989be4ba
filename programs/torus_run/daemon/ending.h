// SPDX-License-Identifier: BSD-3-Clause
// Messages of torus-run about its own end, and about hosts that cannot be reached then.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace torusmp::torus_run {

// A message for a stopped front, which cannot exit: a caller that waits for torus-run would not
// learn that the job has ended. Empty if the front is not stopped.
std::string stopped_front_message(int exit_code);

// A message for a host that has not confirmed its end, where the torus is the only network.
std::string silent_host_message(const std::string& host, std::chrono::nanoseconds timeout);

// Completes "host qcd001 ...": the host heard nothing from this process, which was not running for
// that time.
std::string own_sleep_message(std::chrono::nanoseconds slept, std::chrono::nanoseconds timeout);

// How a job ended, for a restart: the daemon leaves it in a file in memory, and the front reads it.
struct JobEnding {
    enum class How {
        over,     // by its program, its user or a limit of time
        death,    // of ranks, daemons or hosts
        refused,  // nothing was started
        cut,      // nothing was started, since dead cables split the hosts
    };
    How how = How::over;
    std::vector<int> nodes;  // whose hosts were lost, or for which the start was refused
};
void leave_ending(int file, const JobEnding& ending);
// Nothing if the daemon has left nothing.
std::optional<JobEnding> read_ending(int file);

}  // namespace torusmp::torus_run
