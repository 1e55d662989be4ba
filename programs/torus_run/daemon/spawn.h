// SPDX-License-Identifier: BSD-3-Clause
// Starts one rank: its own process group, its descriptors, its cores, then exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include "config/cpus.h"

namespace torusmp::launch {

struct SpawnRequest {
    pid_t parent;  // the caller
    const char* program;
    const char* folder;  // empty: the caller's
    char* const* arguments;
    char* const* environment;
    int standard[3];  // become 0, 1 and 2
    int sockets[2];   // handed down as they are
    int lifeline;     // handed down as it is; an open file description of this rank's own
    const config::Affinity* affinity;
    const sigset_t* signals;  // the mask with which the rank starts
    const rlimit* files;      // the limit of open files with which the rank starts
};

struct SpawnResult {
    pid_t pid = -1;  // -1: not started
    int error = 0;   // errno of `call`
    const char* call = "";
};

// The child shares our memory until it execs, so nothing of the parent is copied.
SpawnResult spawn(const SpawnRequest& request);

}  // namespace torusmp::launch
