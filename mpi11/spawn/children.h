// SPDX-License-Identifier: BSD-3-Clause
// Processes that the members of a communicator start: torus-runs of their own start them, as jobs
// of their own, which then join the members. All calls are made by the root.
#pragma once

#include <string>
#include <vector>

#include "mpi11/mpi.h"
#include "mpi11/spawn/joining_call.h"

namespace torusmp::mpi {

// One program, as the root describes it.
struct Command {
    std::string program;
    std::vector<std::string> arguments;
    int processes = 0;
    std::string folder;              // info key wdir; empty for this process's
    std::vector<std::string> hosts;  // info key host
};

// Throws Failure.
Command read_command(const char* program, char** arguments, int processes, MPI_Info info);

// Arranges one job of all processes. `beside` is the job of the communicator's members, and `nodes`
// contains the nodes of these members. Throws Failure.
Arrangement arrange_children(const std::vector<Command>& commands, const job::Process& beside,
                             std::vector<int> nodes);

// A process that takes the place of a dead member.
struct Replacement {
    int rank = 0;  // of the dead member
    int node = 0;  // where the new process starts
};
// A job for each new process, so that each may be on any node and may die alone. The command's
// number of processes and its hosts are ignored. `refused` contains nodes that cannot be used;
// nodes on which no process could be started, or none that could join, are added to it. Throws
// Failure.
Arrangement arrange_replacements(const Command& command, const job::Process& beside,
                                 std::vector<int> nodes,
                                 const std::vector<Replacement>& replacements,
                                 std::vector<int>& refused);

}  // namespace torusmp::mpi
