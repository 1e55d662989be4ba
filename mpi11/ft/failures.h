// SPDX-License-Identifier: BSD-3-Clause
// The dead members that each communicator knows, and its revocation (User Level Failure Mitigation:
// Bland et al., Int. J. High Perform. Comput. Appl. 27, 2013; the Forum's proposal for MPI).
//
// The Runtime reports lost ranks and revoked groups; this module finds the communicators that they
// concern. A revoked communicator, and the window or file that it belongs to, has a kind of its
// own, so the calls that communicate refuse it without a further test. All state is used under the
// Runtime's lock.
#pragma once

#include <vector>

#include "mpi11/comm/communicator.h"
#include "mpi11/error/error.h"

namespace torusmp::mpi {

// From joining a job to leaving it.
void begin_failures(World& world);
void end_failures(World& world);
// Called by the constructor and the destructor of each communicator.
void watch_members(Communicator& comm);
void forget_members(Communicator& comm);

// The dead members, local and remote, in the order in which this process has learned of them.
std::vector<Rank> dead_members(Communicator& comm);
// Acknowledges the first dead members, `count` of them or all; returns how many are acknowledged.
// Receives from any source wait again once all are.
int acknowledge(Communicator& comm, int count);
std::vector<Rank> acknowledged_members(Communicator& comm);
// All members of both groups, in the same order on each of them.
std::vector<Rank> all_members(const Communicator& comm);

void revoke(Communicator& comm);
inline bool is_revoked(const Communicator& comm) {
    return comm.kind == Kind::revoked_communicator;
}
// Fails with MPI_ERR_REVOKED if the communicator is revoked.
inline void check_not_revoked(const Communicator& comm) {
    if (is_revoked(comm)) [[unlikely]]
        wrong_handle<Communicator>(handle_of(comm));
}

// The class of an error of core in a message or collective.
int class_of_fault(core::Error error);
// Fails, for receives and probes from any source, if the communicator has a dead member that is not
// acknowledged.
void check_any_source(const Communicator& comm);

}  // namespace torusmp::mpi
