// SPDX-License-Identifier: BSD-3-Clause
// What the front ends of one process do for each other: the last of them leaves the job, and MPI
// makes the communicators that QMP_get_hidden_comm returns.
//
// No front end knows another. MPI registers its functions here when its library is loaded; in a
// program without it they stay null.
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
    // An MPI_Comm of these members, given by machine rank, in contexts from `first` on, which
    // nobody else uses. Initializes MPI if the program has not. Throws std::exception.
    void* (*make)(std::vector<core::Rank> members, core::Context first) = nullptr;
    void (*free)(void* comm) = nullptr;
    // Finalizes MPI if make() had initialized it, and not the program.
    void (*end)() = nullptr;
};
inline constinit MpiFunctions mpi_functions{};

}  // namespace torusmp::job
