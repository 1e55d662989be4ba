// SPDX-License-Identifier: BSD-3-Clause
// The folder of the sockets of running jobs: one per job, "job-PID", in a folder of the user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::torus_run {

// Returns $XDG_RUNTIME_DIR/torusmp, or /tmp/torusmp-UID if that variable names no folder. Creates
// the folder if it is missing. Throws std::runtime_error if it cannot be created, or others can
// write to it.
std::string runtime_folder();

std::string job_socket_path(const std::string& folder, pid_t job);

// Listens at `path`; only this user may connect. Throws std::runtime_error.
base::Descriptor listen_for_observers(const std::string& path);
// Returns an empty descriptor, with errno set, if the job does not exist.
base::Descriptor connect_to_job(const std::string& path);
// The user ID of the peer of a socket; -1 if unknown.
uid_t user_at(int socket);

// The jobs of this user on this host that can be watched, in ascending order. Removes stale sockets
// of jobs that were killed.
std::vector<pid_t> running_jobs(const std::string& folder);

}  // namespace torusmp::torus_run
