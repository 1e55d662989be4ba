// SPDX-License-Identifier: BSD-3-Clause
// Epochs of active targets, fences and post and start, and the completion of accesses (MPI-5.0,
// section 12.5). locks.cpp has those of passive targets.
#include <algorithm>
#include <deque>
#include <optional>

#include "mpi11/coll/collective_calls.h"
#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"
#include "mpi11/pt2pt/request.h"
#include "mpi11/rma/transfer.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi::windows {
namespace {

using core::rma::Action;
using core::rma::Operation;

// Members that a call waits for, for reports. awaits(member): whether it still waits for it.
template <class Awaits>
class AwaitedMembers final : public core::Awaited {
  public:
    AwaitedMembers(const Window& window, const std::vector<Rank>& members, const Awaits& awaits)
        : window_(window), members_(members), awaits_(awaits) {}
    void list(List& list) const override {
        for (const Rank member : members_)
            if (awaits_(member))
                list.operations.push_back({.kind = core::Waits::Operation::Kind::access,
                                           .peer = window_.comm->peer(member)});
    }

  private:
    const Window& window_;
    const std::vector<Rank>& members_;
    const Awaits& awaits_;
};

void check_dealings(Window& window, int target) {
    core::Error error = core::Error::none;
    {
        const auto lock = window.comm->runtime().lock();
        std::swap(error, window.dealings(target).error);
    }
    if (error == core::Error::none) return;
    const Rank peer = window.comm->peer(target);
    fail(class_of_fault(error), "accesses to rank {}: {}", target,
         window.comm->runtime().state().why_failed(error, peer));
}

void check_answer(Window& window, const Operation& operation) {
    if (operation.status().error != core::Error::none) check_dealings(window, operation.target);
    if (operation.refused())
        fail(
            MPI_ERR_RMA_RANGE,
            "accesses to rank {} since the last synchronization were outside of the memory that it "
            "has attached; they had no effect",
            operation.target);
}

void begin(Window& window, Operation& operation, Action action, int target) {
    operation.window_ = &window.core;
    operation.action = action;
    operation.target = target;
    window.comm->runtime().windows().start(operation);
}

// The positions of a group's members in the window.
Members members_of(const Window& window, MPI_Group handle) {
    const Members ranks = members_in(*window.comm, handle);
    std::vector<Rank> found;
    for (const Rank rank : ranks.ranks()) {
        const auto& all = window.comm->members();
        const int member =
            std::find(all.begin(), all.end(), rank) == all.end() ? -1 : window.comm->rank_of(rank);
        if (member < 0)
            fail(MPI_ERR_GROUP, "found a group with a process that is not a member of the window");
        found.push_back(member);
    }
    return Members(std::move(found));
}

using Signal = core::rma::Signals::Kind;

// behind_packets: the signal must not overtake accesses that left in packets.
void signal(Window& window, Signal kind, int member, bool behind_packets) {
    if (member == window.core.self) {
        const auto lock = window.comm->runtime().lock();
        ++window.dealings(member).packets[std::size_t(kind)];
        window.comm->runtime().recheck();
        return;
    }
    if (window.core.parts[std::size_t(member)].signals != nullptr && !behind_packets)
        return window.comm->runtime().windows().signal(window.core, kind, member);
    const Action action = kind == Signal::post ? Action::post : Action::complete;
    Transfer& transfer = Transfer::take(window, action, member);
    window.comm->runtime().windows().start(transfer.operation);
}

bool have_signalled(const Window& window, const Members& members, Signal kind) {
    return std::all_of(members.ranks().begin(), members.ranks().end(),
                       [&](int member) { return window.core.signals_of(member, kind) != 0; });
}

void take_signals(Window& window, const Members& members, Signal kind) {
    const auto lock = window.comm->runtime().lock();
    for (const int member : members.ranks()) window.core.take_signal(member, kind);
}

// The first member whose signal is missing and will not come, because it has died.
std::optional<int> lost_member(const Window& window, const Members& members, Signal kind) {
    const core::Runtime& runtime = window.comm->runtime();
    if (runtime.state().faults() == 0) return std::nullopt;
    for (const int member : members.ranks())
        if (window.core.signals_of(member, kind) == 0 &&
            runtime.survivors().is_lost(window.comm->peer(member)))
            return member;
    return std::nullopt;
}

// Throws Failure if a signal that is missing will not come.
void check_hope(const Window& window, const Members& members, Signal kind) {
    check_not_revoked(*window.comm);
    if (const auto member = lost_member(window, members, kind))
        fail(class_of_fault(core::Error::unreachable), "rank {}: {}", *member,
             window.comm->runtime().state().why_failed(core::Error::unreachable,
                                                       window.comm->peer(*member)));
}

// Makes signals in mapped memory wake this rank.
class SignalWatch {
  public:
    SignalWatch(Window& window, Signal kind, const std::vector<Rank>& members)
        : windows_(window.comm->runtime().windows()), wait_{window.core, kind, members} {
        watches_ = window.core.parts[std::size_t(window.core.self)].signals != nullptr;
        if (watches_) windows_.watch(wait_);
    }
    ~SignalWatch() {
        if (watches_) windows_.forget(wait_);
    }
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

  private:
    core::rma::Windows& windows_;
    const core::rma::Windows::SignalWait wait_;
    bool watches_ = false;
};

void await_signals(Window& window, const char* call, const Members& members, Signal kind) {
    const auto awaits = [&](Rank member) { return window.core.signals_of(member, kind) == 0; };
    const AwaitedMembers awaited(window, members.ranks(), awaits);
    if (!have_signalled(window, members, kind)) {
        const SignalWatch watch(window, kind, members.ranks());
        window.comm->runtime().wait_until(
            [&] {
                return have_signalled(window, members, kind) || window.revoked() ||
                       lost_member(window, members, kind);
            },
            call, &awaited);
        if (!have_signalled(window, members, kind)) check_hope(window, members, kind);
    }
    take_signals(window, members, kind);
    order(window);
}

// ---- the calls ----

void fence(Window& window, const char* call, int assertion) {
    check_assert(assertion,
                 MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
    if (window.locks != 0 || window.lock_all)
        out_of_epoch("an open lock", "MPI_Win_unlock before MPI_Win_fence");
    if (window.started || window.exposed)
        out_of_epoch("an epoch of MPI_Win_start or MPI_Win_post", "its end before MPI_Win_fence");
    window.fence_open = (assertion & MPI_MODE_NOSUCCEED) == 0;
    window.fence_used = false;
    if (window.log != nullptr) window.log->compare_all(call);
    flush(window, call, -1, false);
    if (window.size() > 1) run(barrier(*window.comm));
    order(window);
}

void post(Window& window, MPI_Group group, int assertion) {
    check_assert(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    if (window.exposed) out_of_epoch("an earlier MPI_Win_post", "MPI_Win_wait for it first");
    if (window.fence_used) out_of_epoch("an open epoch of MPI_Win_fence", "another fence first");
    order(window);
    window.exposed = members_of(window, group);
    if ((assertion & MPI_MODE_NOCHECK) != 0) return;
    for (const int member : window.exposed->ranks()) signal(window, Signal::post, member, false);
}

void start(Window& window, const char* call, MPI_Group group, int assertion) {
    check_assert(assertion, MPI_MODE_NOCHECK);
    if (window.started) out_of_epoch("an earlier MPI_Win_start", "MPI_Win_complete for it first");
    if (window.fence_used || window.locks != 0 || window.lock_all)
        out_of_epoch("an access epoch of another kind", "its end before MPI_Win_start");
    Members targets = members_of(window, group);
    if ((assertion & MPI_MODE_NOCHECK) == 0) await_signals(window, call, targets, Signal::post);
    window.started = std::move(targets);
    order(window);
}

void complete(Window& window, const char* call) {
    if (!window.started) out_of_epoch("no access epoch", "MPI_Win_start before MPI_Win_complete");
    order(window);
    const Members targets = *std::exchange(window.started, std::nullopt);
    for (const int member : targets.ranks()) {
        // Accesses in packets are carried out before the signal, which follows them.
        flush(window, call, member, true);
        if (window.log != nullptr) window.log->clear(member);
        signal(window, Signal::complete, member, window.clean(member));
    }
}

bool test(Window& window) {
    if (!window.exposed) out_of_epoch("no exposure epoch", "MPI_Win_post first");
    if (!have_signalled(window, *window.exposed, Signal::complete)) {
        window.comm->runtime().progress_repeatedly();
        if (!have_signalled(window, *window.exposed, Signal::complete)) {
            check_hope(window, *window.exposed, Signal::complete);
            return false;
        }
    }
    take_signals(window, *window.exposed, Signal::complete);
    window.exposed.reset();
    order(window);
    return true;
}

void wait(Window& window, const char* call) {
    if (!window.exposed) out_of_epoch("no exposure epoch", "MPI_Win_post before MPI_Win_wait");
    const Members origins = *std::exchange(window.exposed, std::nullopt);
    await_signals(window, call, origins, Signal::complete);
}

}  // namespace

void check_assert(int found, int allowed) {
    if ((found & ~allowed) != 0)
        fail(MPI_ERR_ASSERT, "found assertion {}, of which {} is not valid in this call", found,
             found & ~allowed);
}

[[noreturn]] void out_of_epoch(const char* found, const char* expected) {
    fail(MPI_ERR_RMA_SYNC, "found {}, expected {}", found, expected);
}

void ask(Window& window, const char* call, Action action, int target) {
    Operation operation;
    {
        // An unlock flushes. Another thread finds the flag or the open operation.
        const auto lock = window.comm->runtime().lock();
        if (action == Action::unlock_shared || action == Action::unlock_exclusive)
            window.clean(target);
        begin(window, operation, action, target);
    }
    window.comm->runtime().wait(operation, call);
    check_answer(window, operation);
}

void check_target(const Window& window, int target) {
    if (unsigned(target) >= unsigned(window.size()) && target != MPI_PROC_NULL)
        fail(MPI_ERR_RANK, "found target rank {}, expected 0 to {} or MPI_PROC_NULL", target,
             window.size() - 1);
}

void flush(Window& window, const char* call, int target, bool local) {
    order(window);
    if (window.log != nullptr && !local) window.log->clear(target);
    if (window.core.open == 0 && (local || window.core.dirty == 0)) return;
    const int first = target < 0 ? 0 : target;
    const int last = target < 0 ? window.size() - 1 : target;
    std::deque<Operation> asked;
    for (int member = first; member <= last && !local; ++member) {
        const auto lock = window.comm->runtime().lock();
        if (window.clean(member)) begin(window, asked.emplace_back(), Action::flush, member);
    }
    const auto done = [&] {
        if (!std::all_of(asked.begin(), asked.end(), [](auto& it) { return it.complete(); }))
            return false;
        return target < 0 ? window.core.open == 0 : window.dealings(target).open == 0;
    };
    std::vector<Rank> members;
    for (int member = first; member <= last; ++member)
        if (window.dealings(member).open != 0) members.push_back(member);
    const auto awaits = [&](Rank member) { return window.dealings(member).open != 0; };
    const AwaitedMembers awaited(window, members, awaits);
    window.comm->runtime().wait_until(done, call, &awaited);
    for (const Operation& operation : asked) check_answer(window, operation);
    for (int member = first; member <= last; ++member) check_dealings(window, member);
}

void complete_all(Window& window, const char* call) {
    for (int member = 0; member < window.size(); ++member) {
        const auto lock = window.comm->runtime().lock();
        core::rma::Window::Dealings& dealings = window.dealings(member);
        if (std::exchange(dealings.told, false) && !std::exchange(dealings.dirty, true))
            ++window.core.dirty;
    }
    flush(window, call, -1, false);
}

}  // namespace torusmp::mpi::windows

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Win_fence = PMPI_Win_fence
int PMPI_Win_fence(int assertion, MPI_Win win) {
    constexpr const char* call = "MPI_Win_fence";
    return window_api_with_others(call, win,
                                  [&](Window& window) { windows::fence(window, call, assertion); });
}

#pragma weak MPI_Win_post = PMPI_Win_post
int PMPI_Win_post(MPI_Group group, int assertion, MPI_Win win) {
    return window_api_with_others("MPI_Win_post", win,
                                  [&](Window& w) { windows::post(w, group, assertion); });
}

#pragma weak MPI_Win_start = PMPI_Win_start
int PMPI_Win_start(MPI_Group group, int assertion, MPI_Win win) {
    constexpr const char* call = "MPI_Win_start";
    return window_api_with_others(call, win,
                                  [&](Window& w) { windows::start(w, call, group, assertion); });
}

#pragma weak MPI_Win_complete = PMPI_Win_complete
int PMPI_Win_complete(MPI_Win win) {
    constexpr const char* call = "MPI_Win_complete";
    return window_api_with_others(call, win,
                                  [&](Window& window) { windows::complete(window, call); });
}

#pragma weak MPI_Win_wait = PMPI_Win_wait
int PMPI_Win_wait(MPI_Win win) {
    constexpr const char* call = "MPI_Win_wait";
    return window_api_with_others(call, win, [&](Window& window) { windows::wait(window, call); });
}

#pragma weak MPI_Win_test = PMPI_Win_test
int PMPI_Win_test(MPI_Win win, int* flag) {
    return window_api_with_others("MPI_Win_test", win, [&](Window& window) {
        check_output("flag", flag);
        *flag = windows::test(window) ? 1 : 0;
    });
}

#pragma weak MPI_Win_sync = PMPI_Win_sync
int PMPI_Win_sync(MPI_Win win) {
    return window_api_with_others("MPI_Win_sync", win,
                                  [&](Window& window) { windows::order(window); });
}
}
