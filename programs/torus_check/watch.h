// SPDX-License-Identifier: BSD-3-Clause
// torus-check --watch: checks this host's links without sending packets, and reports the changes
// since the last check. For timers, node daemons and prologues, even while jobs run.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace torusmp::torus_check {

struct WatchOptions {
    std::string state_file;
    std::vector<std::string> devices;  // of the links
    bool all = false;                  // also report known faults
    std::chrono::seconds memory{3600};
};

// Returns the exit code: 0 if all links are good, 1 if there is a fault. Throws std::runtime_error
// if the state cannot be written.
int watch_links(const WatchOptions& options);

}  // namespace torusmp::torus_check
