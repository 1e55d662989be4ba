// SPDX-License-Identifier: BSD-3-Clause
// Services that the front ends of one process provide to each other: the last of them leaves the
// job, and MPI creates the communicators that QMP_get_hidden_comm returns.
//
// Front ends do not know each other. MPI registers its functions here when its library is loaded;
// in a program without it they stay null.
#pragma once

#include <atomic>
#include <vector>

#include "core/request.h"
#include "job/process.h"

namespace torusmp::job {

// Front ends that are initialized and not yet finalized.
inline constinit std::atomic<int> front_ends{0};

inline void come_up() {
    ++front_ends;
}
// Leaves the job if no other front end is initialized. Collective in that case, see
// Process::leave().
inline void go_down(Process& process) {
    if (--front_ends == 0) process.leave();
}

struct MpiFunctions {
    // An MPI_Comm of these members, given by machine rank, in contexts from `first` on, which are
    // otherwise unused. Initializes MPI if the program has not. Throws std::exception.
    void* (*make)(std::vector<core::Rank> members, core::Context first) = nullptr;
    void (*free)(void* comm) = nullptr;
    // Finalizes MPI if make() initialized it, and not the program.
    void (*end)() = nullptr;
};
inline constinit MpiFunctions mpi_functions{};

}  // namespace torusmp::job
