// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/ft/failures.h"

#include <algorithm>

#include "mpi11/coll/collective.h"
#include "mpi11/error/error.h"

namespace torusmp::mpi {
namespace {

bool is_member(const Communicator& comm, Rank rank) {
    const auto in = [rank](const std::vector<Rank>& ranks) {
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    return in(comm.peers()) || (comm.inter() && in(comm.members()));
}

void note_death(Communicator& comm, Rank rank) {
    comm.dead.push_back(rank);
    comm.runtime().survivors().suspend_wildcards(comm.context());
}

void on_loss(World& world, Rank rank) {
    for (const auto& [context, comm] : world.communicators)
        if (is_member(*comm, rank)) note_death(*comm, rank);
}

void on_revoked(World& world, Context context) {
    const auto found = world.communicators.find(context);
    if (found == world.communicators.end()) return;
    Communicator& comm = *found->second;
    comm.kind = Kind::revoked_communicator;
    comm.group().revoke();
    if (comm.schedules != nullptr) SchedulePools::revoke(*comm.schedules);
    comm.runtime().survivors().cancel_all(comm.context(), contexts_each);
    if (comm.error_object != nullptr) comm.revoke_object(*comm.error_object);
}

}  // namespace

void begin_failures(World& world) {
    const core::Survivors& survivors = world.runtime().survivors();
    const auto lock = world.runtime().lock();
    survivors.set_loss_listener([&world](Rank rank) { on_loss(world, rank); });
    survivors.revocations().set_listener([&world](Context context) { on_revoked(world, context); });
}

void end_failures(World& world) {
    const core::Survivors& survivors = world.runtime().survivors();
    const auto lock = world.runtime().lock();
    survivors.set_loss_listener(nullptr);
    survivors.revocations().set_listener(nullptr);
}

void watch_members(Communicator& comm) {
    core::Runtime& job = comm.runtime();
    const core::Survivors& survivors = job.survivors();
    const auto lock = job.lock();
    comm.world()->communicators.emplace(comm.context(), &comm);
    std::vector<Rank> members = all_members(comm);
    if (job.state().faults() != 0)
        for (const Rank rank : members)
            if (survivors.is_lost(rank)) note_death(comm, rank);
    survivors.revocations().open(comm.context(), std::move(members));
}

void forget_members(Communicator& comm) {
    const core::Survivors& survivors = comm.runtime().survivors();
    auto& communicators = comm.world()->communicators;
    const auto lock = comm.runtime().lock();
    const auto found = communicators.find(comm.context());
    if (found == communicators.end() || found->second != &comm) return;
    communicators.erase(found);
    survivors.resume_wildcards(comm.context());
    survivors.revocations().close(comm.context());
    survivors.agreements().close(comm.context());
}

std::vector<Rank> dead_members(Communicator& comm) {
    comm.runtime().progress();
    const auto lock = comm.runtime().lock();
    return comm.dead;
}

int acknowledge(Communicator& comm, int count) {
    const auto lock = comm.runtime().lock();
    const int wanted = std::clamp(count, 0, int(comm.dead.size()));
    if (wanted > comm.acknowledged) comm.acknowledged = wanted;
    if (comm.acknowledged == int(comm.dead.size()))
        comm.runtime().survivors().resume_wildcards(comm.context());
    return comm.acknowledged;
}

std::vector<Rank> acknowledged_members(Communicator& comm) {
    const auto lock = comm.runtime().lock();
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
    comm.runtime().survivors().revocations().revoke(comm.context());
}

int class_of_fault(core::Error error) {
    // A revocation cancels messages; those of the library are cancelled by nothing else.
    if (error == core::Error::revoked || error == core::Error::cancelled) return MPI_ERR_REVOKED;
    if (error == core::Error::pending) return MPI_ERR_PROC_FAILED_PENDING;
    if (error != core::Error::unreachable) return MPI_ERR_OTHER;
    return library().process->keeps_going() ? MPI_ERR_PROC_FAILED : MPI_ERR_PROC_ABORTED;
}

void check_any_source(const Communicator& comm) {
    const auto lock = comm.runtime().lock();
    if (comm.acknowledged == int(comm.dead.size())) return;
    const Rank rank = comm.dead[std::size_t(comm.acknowledged)];
    fail(MPI_ERR_PROC_FAILED_PENDING, "a message from any source may not arrive: {}",
         comm.runtime().state().fault_of(rank));
}

Failure revoked_failure(Communicator& comm) {
    return {MPI_ERR_REVOKED, fmt::format("{} was revoked by one of its members", comm.describe()),
            comm};
}

}  // namespace torusmp::mpi
