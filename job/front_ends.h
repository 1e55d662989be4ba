// What the front ends of one process do for each other: the last of them leaves the job, and MPI
// makes the communicators that QMP_get_hidden_comm hands out.
//
// No front end knows another. MPI puts its functions here when its library is loaded; where it is
// not linked they stay null.
#pragma once

#include <atomic>
#include <vector>

#include "core/request.h"
#include "job/process.h"

namespace torusmp::job {

// Front ends that have come up and not yet gone down.
inline constinit std::atomic<int> front_ends{0};

inline void come_up() {
    ++front_ends;
}
// Leaves the job if no other front end is up. Collective then, see Process::leave().
inline void go_down(Process& process) {
    if (--front_ends == 0) process.leave();
}

struct MpiFunctions {
    // An MPI_Comm of these members, by machine rank, in contexts from `first` on, which nobody else
    // uses. Initializes MPI if the program has not. Throws std::exception.
    void* (*make)(std::vector<core::Rank> members, core::Context first) = nullptr;
    void (*free)(void* comm) = nullptr;
    // Finalizes MPI if only make() had initialized it.
    void (*end)() = nullptr;
};
inline constinit MpiFunctions mpi_functions{};

}  // namespace torusmp::job
