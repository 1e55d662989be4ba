// SPDX-License-Identifier: BSD-3-Clause
// Starts one rank: sets its process group, descriptors and processors, then calls exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include "config/cpus.h"

namespace torusmp::torus_run {

struct SpawnRequest {
    pid_t parent;  // the caller
    const char* program;
    const char* folder;  // empty for the caller's folder
    char* const* arguments;
    char* const* environment;
    int standard[3];  // become 0, 1 and 2
    int sockets[2];   // inherited with the same numbers
    int lifeline;     // inherited; a separate open file description for each rank
    const config::Affinity* affinity;
    const sigset_t* signals;  // signal mask of the rank
    const rlimit* files;      // limit of open files of the rank
};

struct SpawnResult {
    pid_t pid = -1;  // -1 if not started
    int error = 0;   // errno of `call`
    const char* call = "";
};

// Starts the process. The child shares the memory of the parent until exec, so nothing is copied.
SpawnResult spawn(const SpawnRequest& request);

}  // namespace torusmp::torus_run
