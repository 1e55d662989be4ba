// SPDX-License-Identifier: BSD-3-Clause
// The kernel's view of a process in /proc/PID/stat.
//
// A free function without state; any thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace torusmp::base {

struct ProcessState {
    char state = 0;  // as ps prints it, such as 'R' or 'S'; 0 if the process does not exist
    pid_t parent = -1;
    unsigned flags = 0;     // the kernel's PF_*
    std::uint64_t cpu = 0;  // processor time, in ns
    int exit_status = 0;    // waitpid's, once ended() is true; 0 for other users' processes

    bool exists() const { return state != 0; }
    // It has ended, or is ending: its descriptors are closed or will be.
    bool ended() const;
};

ProcessState process_state(pid_t process);

}  // namespace torusmp::base
