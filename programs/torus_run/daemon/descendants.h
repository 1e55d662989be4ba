// SPDX-License-Identifier: BSD-3-Clause
// Ends all descendants of this process: its children and, because it is their subreaper, every
// orphaned descendant, in any session or process group.
#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

namespace torusmp::torus_run {

// Makes orphaned descendants children of this process. Call before the first fork.
void adopt_orphans();

// The children of this process, including zombies.
std::vector<pid_t> children();
// The children of any process.
std::vector<pid_t> children(pid_t parent);

// Whether a process is stopped by a signal; false if unknown.
bool is_stopped(pid_t pid);

// Kills (SIGKILL) and reaps until no descendant is left. Returns the processes that outlived
// `timeout`: stuck in the kernel, or owned by another user. SIGCHLD must be blocked.
std::vector<pid_t> kill_descendants(std::chrono::milliseconds timeout);

}  // namespace torusmp::torus_run
