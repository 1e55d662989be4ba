// SPDX-License-Identifier: BSD-3-Clause
// The start parameters of a rank: its environment, and the first frame on its socket.
#pragma once

#include <string>
#include <vector>

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/channel.h"

namespace torusmp::torus_run {

// Descriptors that a rank inherits; see env_bootstrap.
struct Inherited {
    int control, notices, lifeline;
};

// Appends the variables of the whole job; those of the program come first and win.
void inherit(std::vector<std::string>& environment, const std::vector<std::string>& job);
// Appends the variables of one rank, after those of its program. `local_rank` is its number among
// the ranks of its host.
void add_identity(std::vector<std::string>& environment, const HostJob& job, int rank,
                  std::size_t local_rank, const Inherited& inherited);
// Returns a null-terminated array for execve.
std::vector<char*> pointers(std::vector<std::string>& strings);

// Wraps the program in a terminal window, see --gdb and --xterm.
Program in_window(const Program& program, Window window);

// The path of this executable, which is the same on the other hosts.
std::string own_path();

// The first collective call of the rank has this sequence number.
SharedBytes welcome(const HostJob& job, int rank, std::uint32_t sequence);

}  // namespace torusmp::torus_run
