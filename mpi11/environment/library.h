// SPDX-License-Identifier: BSD-3-Clause
// The state of libmpi in this process: its job, whether MPI runs, the predefined communicators.
//
// There is one Library, because the C API has no object to keep it in; it is never destroyed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "core/api.h"
#include "job/process.h"
#include "mpi11/object.h"

namespace torusmp::mpi {

class Communicator;

// State needed by every call, accessible without the guard of the Library's initialization.
struct Hot {
    // Between MPI_Init and MPI_Finalize, or while a session is open. Also false, for a moment, if
    // events wait for the next call; not_running() knows the difference.
    std::atomic<bool> running{false};
    core::Runtime* runtime = nullptr;  // set while running, and between sessions
    Communicator* world = nullptr;
};
inline constinit Hot hot;

struct Library {
    std::shared_ptr<job::Process> process;
    std::atomic<bool> initialized{false};
    std::atomic<bool> finalized{false};
    int thread_level = MPI_THREAD_SINGLE;
    std::thread::id main_thread;
    Communicator* world = nullptr;
    Communicator* self = nullptr;
    Communicator* parent = nullptr;  // MPI_Comm_get_parent; null if none, or no more
    // In which this process has taken the place of a dead one, until torusmp_replace returns it.
    Communicator* replaced = nullptr;
};

// Works at any time.
Library& library();

inline core::Runtime& runtime() {
    return *hot.runtime;
}

}  // namespace torusmp::mpi
