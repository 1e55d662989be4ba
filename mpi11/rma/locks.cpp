// SPDX-License-Identifier: BSD-3-Clause
// Epochs of passive targets: locks, and what may be done under them (MPI-5.0, section 12.5.3).
#include "mpi11/error/check.h"
#include "mpi11/rma/quick.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi::windows {
namespace {

using core::rma::Action;

void lock_target(Window& window, const char* call, int target, bool exclusive) {
    if (window.core.parts[std::size_t(target)].control != nullptr &&
        window.comm->runtime().windows().lock_now(window.core, target, exclusive))
        return;
    ask(window, call, exclusive ? Action::lock_exclusive : Action::lock_shared, target);
}

void unlock_target(Window& window, const char* call, int target, Window::Lock how) {
    const bool exclusive = how == Window::Lock::exclusive;
    const bool mapped = window.core.parts[std::size_t(target)].control != nullptr;
    if (mapped || how == Window::Lock::unchecked) flush(window, call, target, false);
    if (how == Window::Lock::unchecked) return;
    if (mapped) return window.comm->runtime().windows().unlock(window.core, target, exclusive);
    if (window.log != nullptr) window.log->clear(target);
    // Answered when all accesses before it are done.
    flush(window, call, target, true);
    ask(window, call, exclusive ? Action::unlock_exclusive : Action::unlock_shared, target);
}

void check_no_other_epoch(const Window& window) {
    if (window.started || window.fence_used)
        out_of_epoch("an access epoch of another kind", "its end before a lock");
    if (window.lock_all) out_of_epoch("an earlier MPI_Win_lock_all", "MPI_Win_unlock_all first");
}

void lock(Window& window, const char* call, int type, int target, int assertion) {
    if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
        fail(MPI_ERR_LOCKTYPE, "found lock type {}, expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED",
             type);
    check_assert(assertion, MPI_MODE_NOCHECK);
    check_target(window, target);
    check_no_other_epoch(window);
    if (target == MPI_PROC_NULL) return;
    std::atomic<Window::Lock>& held = window.locked[std::size_t(target)];
    if (held != Window::Lock::none)
        fail(MPI_ERR_RMA_SYNC, "found rank {} locked already, expected MPI_Win_unlock first",
             target);
    const bool exclusive = type == MPI_LOCK_EXCLUSIVE;
    if ((assertion & MPI_MODE_NOCHECK) == 0) {
        lock_target(window, call, target, exclusive);
        held = exclusive ? Window::Lock::exclusive : Window::Lock::shared;
    } else {
        held = Window::Lock::unchecked;
    }
    ++window.locks;
    order(window);
}

void unlock(Window& window, const char* call, int target) {
    check_target(window, target);
    if (target == MPI_PROC_NULL) return;
    const Window::Lock held = window.locked[std::size_t(target)];
    if (held == Window::Lock::none || window.lock_all)
        fail(MPI_ERR_RMA_SYNC, "found rank {}, which is not locked by MPI_Win_lock", target);
    order(window);
    window.locked[std::size_t(target)] = Window::Lock::none;
    --window.locks;
    unlock_target(window, call, target, held);
}

void begin_lock_all(Window& window, int assertion) {
    check_assert(assertion, MPI_MODE_NOCHECK);
    check_no_other_epoch(window);
    if (window.locks != 0) out_of_epoch("an earlier MPI_Win_lock", "MPI_Win_unlock first");
    window.lock_all_unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
    window.lock_all = true;
    order(window);
}

void end_lock_all(Window& window, const char* call) {
    if (!window.lock_all) out_of_epoch("no lock of all ranks", "MPI_Win_lock_all first");
    order(window);
    window.lock_all = false;
    flush(window, call, -1, false);
    for (int target = 0; target < window.size(); ++target) {
        const Window::Lock held = window.locked[std::size_t(target)].exchange(Window::Lock::none);
        if (held == Window::Lock::shared) unlock_target(window, call, target, held);
    }
}

void flush_passive(Window& window, const char* call, int target, bool local) {
    if (target != -1) check_target(window, target);
    if (target == MPI_PROC_NULL) return;
    const bool any = window.lock_all || window.locks != 0;
    if (target == -1 ? !any
                     : !window.lock_all && window.locked[std::size_t(target)] == Window::Lock::none)
        out_of_epoch("no lock of the target", "MPI_Win_lock or MPI_Win_lock_all first");
    flush(window, call, target, local);
}

}  // namespace

void check_epoch(Window& window, int target) {
    if (window.locked[std::size_t(target)].load(std::memory_order_acquire) != Window::Lock::none)
        return;
    if (window.lock_all) {
        // Taken with the first access, so that locks of ranks that are not accessed cost nothing.
        // Threads may take it twice, and give it up twice.
        if (!window.lock_all_unchecked) lock_target(window, "MPI_Win_lock_all", target, false);
        const Window::Lock taken =
            window.lock_all_unchecked ? Window::Lock::unchecked : Window::Lock::shared;
        const Window::Lock before = window.locked[std::size_t(target)].exchange(taken);
        if (before == Window::Lock::shared)
            unlock_target(window, "MPI_Win_lock_all", target, Window::Lock::shared);
        return;
    }
    if (window.started) {
        if (window.started->contains(target)) return;
        fail(MPI_ERR_RMA_SYNC, "found rank {}, which is not in the group of MPI_Win_start", target);
    }
    if (window.fence_open) {
        window.fence_used.store(true, std::memory_order_relaxed);
        return;
    }
    out_of_epoch("an access outside of any epoch",
                 "MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first");
}

}  // namespace torusmp::mpi::windows

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Win_lock = PMPI_Win_lock
int PMPI_Win_lock(int lock_type, int rank, int assertion, MPI_Win win) {
    constexpr const char* call = "MPI_Win_lock";
    return window_api_with_others(
        call, win, [&](Window& w) { windows::lock(w, call, lock_type, rank, assertion); });
}

#pragma weak MPI_Win_unlock = PMPI_Win_unlock
int PMPI_Win_unlock(int rank, MPI_Win win) {
    constexpr const char* call = "MPI_Win_unlock";
    return window_api_with_others(call, win,
                                  [&](Window& window) { windows::unlock(window, call, rank); });
}

#pragma weak MPI_Win_lock_all = PMPI_Win_lock_all
int PMPI_Win_lock_all(int assertion, MPI_Win win) {
    return window_api_with_others("MPI_Win_lock_all", win,
                                  [&](Window& w) { windows::begin_lock_all(w, assertion); });
}

#pragma weak MPI_Win_unlock_all = PMPI_Win_unlock_all
int PMPI_Win_unlock_all(MPI_Win win) {
    constexpr const char* call = "MPI_Win_unlock_all";
    return window_api_with_others(call, win,
                                  [&](Window& window) { windows::end_lock_all(window, call); });
}

#pragma weak MPI_Win_flush = PMPI_Win_flush
int PMPI_Win_flush(int rank, MPI_Win win) {
    constexpr const char* call = "MPI_Win_flush";
    if (windows::quick::flush(win, rank)) return MPI_SUCCESS;
    return window_api_with_others(call, win, [&](Window& w) {
        if (rank == -1) fail(MPI_ERR_RANK, "found target rank -1");
        windows::flush_passive(w, call, rank, false);
    });
}

#pragma weak MPI_Win_flush_all = PMPI_Win_flush_all
int PMPI_Win_flush_all(MPI_Win win) {
    constexpr const char* call = "MPI_Win_flush_all";
    return window_api_with_others(call, win,
                                  [&](Window& w) { windows::flush_passive(w, call, -1, false); });
}

#pragma weak MPI_Win_flush_local = PMPI_Win_flush_local
int PMPI_Win_flush_local(int rank, MPI_Win win) {
    constexpr const char* call = "MPI_Win_flush_local";
    return window_api_with_others(call, win, [&](Window& w) {
        if (rank == -1) fail(MPI_ERR_RANK, "found target rank -1");
        windows::flush_passive(w, call, rank, true);
    });
}

#pragma weak MPI_Win_flush_local_all = PMPI_Win_flush_local_all
int PMPI_Win_flush_local_all(MPI_Win win) {
    constexpr const char* call = "MPI_Win_flush_local_all";
    return window_api_with_others(call, win,
                                  [&](Window& w) { windows::flush_passive(w, call, -1, true); });
}
}
