// SPDX-License-Identifier: BSD-3-Clause
// What a rank is given at its start: its environment, and the first frame on its socket.
#pragma once

#include <string>
#include <vector>

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/channel.h"

namespace torusmp::launch {

// Descriptors that a rank inherits, see env_bootstrap.
struct Inherited {
    int control, notices, lifeline;
};

// The variables that all of the job share follow those of the program, which win.
void inherit(std::vector<std::string>& environment, const std::vector<std::string>& job);
// The variables of one rank, which follow those that all of its program share. `local_rank`: among
// the ranks of its host.
void add_identity(std::vector<std::string>& environment, const HostJob& job, int rank,
                  std::size_t local_rank, const Inherited& inherited);
// As execve takes them.
std::vector<char*> pointers(std::vector<std::string>& strings);

// The program in a window, instead of the program itself: see --gdb and --xterm.
Program in_window(const Program& program, Window window);

SharedBytes welcome(const HostJob& job, int rank);

}  // namespace torusmp::launch
