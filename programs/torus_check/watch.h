// SPDX-License-Identifier: BSD-3-Clause
// torus-check --watch: looks at this host's links without sending anything, and tells what has
// changed since it looked last. For timers, node daemons and prologues, even while jobs run.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace torusmp::check {

struct WatchOptions {
    std::string state_file;
    std::vector<std::string> devices;  // of the links
    bool all = false;                  // tell what is wrong although it is known
    std::chrono::seconds memory{3600};
};

// The exit code: 0 all links are well, 1 something is wrong. Throws std::runtime_error if the state
// cannot be written.
int watch_links(const WatchOptions& options);

}  // namespace torusmp::check
