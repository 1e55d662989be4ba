// SPDX-License-Identifier: BSD-3-Clause
// The object behind an MPI_Win: memory of the members of a communicator, which the other members
// access without a call of the owner (MPI-5.0, chapter 12).
//
// A window has its own communicator, a duplicate of the program's. Any thread may access memory
// inside an epoch; one thread at a time opens and closes epochs.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/rma/windows.h"
#include "mpi11/attribute/attributes.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/comm/members.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/error.h"
#include "mpi11/rma/access_log.h"

namespace torusmp::mpi {

class Window : public Object {
  public:
    using Handle = MPI_Win;
    static constexpr Kind kind_of_class = Kind::window;
    static constexpr Kind kind_when_revoked = Kind::revoked_window;
    static constexpr int error_class = MPI_ERR_WIN;
    static inline const Handle null_handle = MPI_WIN_NULL;
    static constexpr const char* null_name = "MPI_WIN_NULL";
    static constexpr const char* noun = "window";

    // The facts that the members exchange.
    struct Member {
        MPI_Aint size = 0;  // bytes
        MPI_Aint unit = 1;  // displacement unit, in bytes
    };
    // How this rank has locked a target.
    enum class Lock : std::uint8_t { none, shared, exclusive, unchecked };

    // Takes over the reference to the communicator, which was created for the window.
    Window(Communicator& comm, int flavor);
    ~Window();

    bool revoked() const { return kind == kind_when_revoked; }
    int size() const { return comm->size(); }
    bool dynamic() const { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
    core::rma::Window::Dealings& dealings(int target) { return core.dealings[std::size_t(target)]; }
    // Returns whether accesses to the target have to be flushed, and marks them as flushed.
    bool clean(int target) {
        const auto lock = comm->runtime().lock();
        if (!std::exchange(dealings(target).dirty, false)) return false;
        --core.dirty;
        return true;
    }
    // The value of an attribute that the standard defines; null for other keys.
    const Attributes::Entry* predefined_attribute(int number) const;
    void set_predefined_attributes(void* base);
    // The call that has opened an epoch which is still open; null if there is none. A fence opens
    // one only if accesses follow it.
    const char* open_epoch() const {
        if (locks != 0) return "MPI_Win_lock";
        if (lock_all) return "MPI_Win_lock_all";
        if (started) return "MPI_Win_start";
        if (exposed) return "MPI_Win_post";
        return fence_used ? "MPI_Win_fence" : nullptr;
    }

    const Reference<Communicator> comm;
    const int flavor;
    std::string name;
    Info::Entries hints;
    bool may_lose = false;  // the job of a member goes on after deaths
    std::shared_ptr<Attributes> attributes;  // null until the program sets one
    std::vector<Member> members;
    core::rma::Window core;
    std::unique_ptr<core::rma::Control> own_control;  // null if it is in `block`
    std::optional<core::SharedBlock> block;           // shared by the members on this host
    void* memory = nullptr;  // allocated by the Runtime for this window; null if it has none
    std::unique_ptr<AccessLog> log;   // null unless mpi.check is set
    std::atomic<unsigned> orders{0};  // calls of windows::order()

    // ---- epochs ----
    bool fence_open = false;              // the last fence has opened an epoch
    std::atomic<bool> fence_used{false};  // there were accesses in that epoch
    std::optional<Members> started;       // the targets of MPI_Win_start, as members of the window
    bool started_unchecked = false;
    std::optional<Members> exposed;  // the origins of MPI_Win_post
    int locks = 0;                   // number of targets locked by MPI_Win_lock
    bool lock_all = false;
    bool lock_all_unchecked = false;
    std::vector<std::atomic<Lock>> locked;  // by target; with lock_all, set by the first access

  private:
    void revoke();

    std::array<Attributes::Entry, MPI_WIN_MODEL - MPI_WIN_BASE + 1> predefined;
};

inline Communicator& communicator_of(const Window& window) {
    return *window.comm;
}

// Runs the body of an MPI function on a window, body(Window&), and raises its errors.
template <Accepts accepts, class Body>
int window_api_accepting(const char* call, MPI_Win handle, Body&& body) noexcept {
    return api_on_object<accepts, Window>(
        call, handle, body, [call](Window* window, const std::exception& error) {
            return raise(call, window == nullptr ? nullptr : window->comm.get(), error);
        });
}
// A function that does not communicate also accepts a revoked window.
template <class Body>
int window_api(const char* call, MPI_Win handle, Body&& body) noexcept {
    return window_api_accepting<Accepts::revoked>(call, handle, std::forward<Body>(body));
}
// A function that communicates.
template <class Body>
int window_api_with_others(const char* call, MPI_Win handle, Body&& body) noexcept {
    return window_api_accepting<Accepts::live>(call, handle, std::forward<Body>(body));
}

// ---- synchronization ----
namespace windows {

// Throws Failure unless this rank may access the target now; takes a lock of MPI_Win_lock_all.
void check_epoch(Window& window, int target);
// Throws Failure if the target is not a member. MPI_PROC_NULL is allowed.
void check_target(const Window& window, int target);
// Throws Failure for an assertion that the call does not know.
void check_assert(int found, int allowed);
[[noreturn]] void out_of_epoch(const char* found, const char* expected);
// Orders accesses to mapped memory before what follows. A program may spin in such calls, none of
// which needs the Runtime; now and then it must run nonetheless, for those that ask this rank.
inline void order(Window& window) {
    constexpr unsigned calls_per_poll = 64;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const unsigned calls = window.orders.load(std::memory_order_relaxed) + 1;
    window.orders.store(calls, std::memory_order_relaxed);
    if (calls % calls_per_poll == 0) window.comm->runtime().progress_repeatedly();
}
// One step of an epoch that the target answers. Throws Failure for what went wrong with accesses.
void ask(Window& window, const char* call, core::rma::Action action, int target);
// Waits until the operations of this rank on the target, or on all targets (-1), are complete at
// this rank and, unless `local` is set, at the target. Throws Failure if one of them has failed.
void flush(Window& window, const char* call, int target, bool local);
// The same for all that this rank has sent, signals included.
void complete_all(Window& window, const char* call);

}  // namespace windows
}  // namespace torusmp::mpi
