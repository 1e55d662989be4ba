// Ends every process below this one: children, and, because this process is their subreaper, all
// that children leave behind, in whatever session or process group they hide.
#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

namespace torusmp::launch {

// Orphaned descendants come to this process from now on. Call before the first fork.
void adopt_orphans();

// The children of this process, dead ones that nobody has reaped included.
std::vector<pid_t> children();
// Those of any process.
std::vector<pid_t> children(pid_t parent);

// Whether a process stands still after a signal; false where it cannot be told.
bool is_stopped(pid_t pid);

// SIGKILL and reap until no descendant is left. Returns the processes that outlived `patience`:
// stuck in the kernel, or of another user. SIGCHLD must be blocked.
std::vector<pid_t> kill_descendants(std::chrono::milliseconds patience);

}  // namespace torusmp::launch
