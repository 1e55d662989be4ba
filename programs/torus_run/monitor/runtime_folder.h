// SPDX-License-Identifier: BSD-3-Clause
// Where the sockets of running jobs lie: one a job, "job-PID", in a folder of the user's own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::launch {

// $XDG_RUNTIME_DIR/torusmp, or /tmp/torusmp-UID where there is no such folder. Made if it is
// missing. Throws std::runtime_error if it cannot be made, or could be written by others.
std::string runtime_folder();

std::string job_socket_path(const std::string& folder, pid_t job);

// Listens there; only this user may connect. Throws std::runtime_error.
base::Descriptor listen_for_observers(const std::string& path);
// Nothing (an empty descriptor, and errno says why) if there is no such job.
base::Descriptor connect_to_job(const std::string& path);
// The user at the other end of a socket; -1: unknown.
uid_t user_at(int socket);

// The jobs of this user on this host that can be watched, ascending. What a job left behind that
// was killed is removed.
std::vector<pid_t> running_jobs(const std::string& folder);

}  // namespace torusmp::launch
