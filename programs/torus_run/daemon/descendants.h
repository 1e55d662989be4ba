// SPDX-License-Identifier: BSD-3-Clause
// Ends every process below this one: its children and, because this process is their subreaper,
// everything that children leave behind, in whatever session or process group.
#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

namespace torusmp::launch {

// From now on orphaned descendants become children of this process. Call before the first fork.
void adopt_orphans();

// The children of this process, including dead ones that nobody has reaped.
std::vector<pid_t> children();
// The children of any process.
std::vector<pid_t> children(pid_t parent);

// Whether a process is stopped by a signal; false where that cannot be told.
bool is_stopped(pid_t pid);

// Kills (SIGKILL) and reaps until no descendant is left. Returns the processes that outlived
// `patience`: stuck in the kernel, or of another user. SIGCHLD must be blocked.
std::vector<pid_t> kill_descendants(std::chrono::milliseconds patience);

}  // namespace torusmp::launch
