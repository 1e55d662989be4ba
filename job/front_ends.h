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
#include "routing/link_news.h"

namespace torusmp::job {

// Front ends that are initialized and not yet finalized.
inline constinit std::atomic<int> front_ends{0};

inline void come_up() {
    ++front_ends;
}
// Leaves the job if no other front end is initialized. Collective in that case, see
// Process::leave(). Reports name it `call`.
inline void go_down(Process& process, std::string_view call = Process::usual_end) {
    if (--front_ends == 0) process.leave(call);
}

// The contexts that each communicator of MPI has.
inline constexpr core::Context mpi_contexts = 5;

struct MpiFunctions {
    // An MPI_Comm of these members, given by machine rank, in contexts from `first` on, which are
    // otherwise unused. Initializes MPI if the program has not. Throws std::exception.
    void* (*make)(std::vector<core::Rank> members, core::Context first) = nullptr;
    void (*free)(void* comm) = nullptr;
    // Finalizes MPI if make() initialized it, and not the program.
    void (*end)() = nullptr;
};
inline constinit MpiFunctions mpi_functions{};

// Reports link news to MPI's tools interface; null if it does not watch them. Called under the
// Runtime's lock.
inline constinit std::atomic<void (*)(const routing::LinkNews&)> on_link_news{nullptr};
// The rank that has to hold its messages, the bytes that unexpected ones use, and their limit.
inline constinit std::atomic<void (*)(core::Rank, std::size_t, std::size_t)> on_unexpected_full{
    nullptr};

}  // namespace torusmp::job
