// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/ft/failures.h"

#include <algorithm>
#include <map>
#include <memory>

#include "mpi11/coll/collective.h"
#include "mpi11/error/error.h"

namespace torusmp::mpi {
namespace {

// The communicators of this process by their first context.
std::map<Context, Communicator*>& communicators() {
    static auto* const all = std::make_unique<std::map<Context, Communicator*>>().release();
    return *all;
}

bool is_member(const Communicator& comm, Rank rank) {
    const auto in = [rank](const std::vector<Rank>& ranks) {
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    return in(comm.peers()) || (comm.inter() && in(comm.members()));
}

void note_death(Communicator& comm, Rank rank) {
    comm.dead.push_back(rank);
    runtime().survivors().suspend_wildcards(comm.context());
}

void on_loss(Rank rank) {
    for (const auto& [context, comm] : communicators())
        if (is_member(*comm, rank)) note_death(*comm, rank);
}

void on_revoked(Context context) {
    const auto found = communicators().find(context);
    if (found == communicators().end()) return;
    Communicator& comm = *found->second;
    comm.kind = Kind::revoked_communicator;
    comm.group().revoke();
    if (comm.schedules != nullptr) SchedulePools::revoke(*comm.schedules);
    runtime().survivors().cancel_all(comm.context(), contexts_each);
}

}  // namespace

void begin_failures() {
    const auto lock = runtime().lock();
    runtime().survivors().set_loss_listener(on_loss);
    runtime().survivors().revocations().set_listener(on_revoked);
}

void end_failures() {
    const auto lock = runtime().lock();
    runtime().survivors().set_loss_listener(nullptr);
    runtime().survivors().revocations().set_listener(nullptr);
}

void watch_members(Communicator& comm) {
    const auto lock = runtime().lock();
    communicators().emplace(comm.context(), &comm);
    std::vector<Rank> members = all_members(comm);
    if (runtime().state().faults() != 0)
        for (const Rank rank : members)
            if (runtime().survivors().is_lost(rank)) note_death(comm, rank);
    runtime().survivors().revocations().open(comm.context(), std::move(members));
}

void forget_members(Communicator& comm) {
    if (hot.runtime == nullptr) return;  // the job has been left
    const auto lock = runtime().lock();
    const auto found = communicators().find(comm.context());
    if (found == communicators().end() || found->second != &comm) return;
    communicators().erase(found);
    runtime().survivors().resume_wildcards(comm.context());
    runtime().survivors().revocations().close(comm.context());
    runtime().survivors().agreements().close(comm.context());
}

std::vector<Rank> dead_members(Communicator& comm) {
    runtime().progress();
    const auto lock = runtime().lock();
    return comm.dead;
}

int acknowledge(Communicator& comm, int count) {
    const auto lock = runtime().lock();
    const int wanted = std::clamp(count, 0, int(comm.dead.size()));
    if (wanted > comm.acknowledged) comm.acknowledged = wanted;
    if (comm.acknowledged == int(comm.dead.size()))
        runtime().survivors().resume_wildcards(comm.context());
    return comm.acknowledged;
}

std::vector<Rank> acknowledged_members(Communicator& comm) {
    const auto lock = runtime().lock();
    return {comm.dead.begin(), comm.dead.begin() + comm.acknowledged};
}

std::vector<Rank> all_members(const Communicator& comm) {
    std::vector<Rank> all = comm.members();
    if (!comm.inter()) return all;
    all.insert(all.end(), comm.peers().begin(), comm.peers().end());
    std::sort(all.begin(), all.end());
    return all;
}

void revoke(Communicator& comm) {
    runtime().survivors().revocations().revoke(comm.context());
}

int class_of_fault(core::Error error) {
    // A revocation cancels messages; those of the library are cancelled by nothing else.
    if (error == core::Error::revoked || error == core::Error::cancelled) return MPI_ERR_REVOKED;
    if (error == core::Error::pending) return MPI_ERR_PROC_FAILED_PENDING;
    if (error != core::Error::unreachable) return MPI_ERR_OTHER;
    return library().process->keeps_going() ? MPI_ERR_PROC_FAILED : MPI_ERR_PROC_ABORTED;
}

void check_any_source(const Communicator& comm) {
    const auto lock = runtime().lock();
    if (comm.acknowledged == int(comm.dead.size())) return;
    const Rank rank = comm.dead[std::size_t(comm.acknowledged)];
    fail(MPI_ERR_PROC_FAILED_PENDING, "a message from any source may not arrive: {}",
         runtime().state().fault_of(rank));
}

Communicator* find_revoked(MPI_Comm handle) {
    Object* const object = object_at(reinterpret_cast<std::uintptr_t>(handle));
    const bool revoked = object != nullptr && object->kind == Kind::revoked_communicator;
    return revoked ? static_cast<Communicator*>(object) : nullptr;
}

template <>
void wrong_handle<Communicator>(MPI_Comm handle) {
    if (Communicator* const revoked = find_revoked(handle))
        throw Failure(MPI_ERR_REVOKED,
                      fmt::format("{} was revoked by one of its members", revoked->describe()),
                      *revoked);
    dead_handle<Communicator>(handle);
}

}  // namespace torusmp::mpi
