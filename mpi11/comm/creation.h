// SPDX-License-Identifier: BSD-3-Clause
// Creates communicators from others (MPI-1.1, sections 5.4 and 5.6). Collective over `from`.
//
// New ones inherit the error handler and the session of `from`. A returned Communicator belongs to
// the caller, with one reference; null if the calling process is not a member.
#pragma once

#include <vector>

#include "mpi11/comm/communicator.h"
#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {

// Do not communicate, because all members already know members and contexts. Without `from` the new
// communicator has neither an error handler nor a session.
Communicator& make_intra(std::shared_ptr<World> world, std::vector<Rank> members, Context first);
Communicator& make_inter(std::shared_ptr<World> world, std::vector<Rank> local,
                         std::vector<Rank> remote, Context first);
Communicator& make_intra(const Communicator& from, std::vector<Rank> members, Context first);
Communicator& make_inter(const Communicator& from, std::vector<Rank> local,
                         std::vector<Rank> remote, Context first);

// A communicator of the same groups, with new contexts, and without attributes and topology.
Communicator& make_alike(Communicator& from, const char* call);
// One for each color, its members in the order of key; MPI_UNDEFINED: none.
Communicator* make_split(Communicator& from, int color, int key, const char* call);
// For the members of a group; the groups that callers give are equal or disjoint.
Communicator* make_of_group(Communicator& from, const Members& group, const char* call);
// Collective over the group alone. The tag distinguishes calls that run at the same time.
Communicator* make_by_group(Communicator& from, const Members& group, int tag);

// Ends the program's use of it, once the library's operations on it are complete.
void disconnect(Communicator& comm, const char* call);

// Its handle; MPI_COMM_NULL for null.
inline MPI_Comm handle_or_null(const Communicator* comm) {
    return comm == nullptr ? MPI_COMM_NULL : handle_of(*comm);
}

// The body of a function that creates a communicator from another: body(Communicator&) returns the
// handle. If the call fails, the program's handle is set to MPI_COMM_NULL.
template <class Body>
int api_for_new(const char* call, MPI_Comm from, const char* name, MPI_Comm* made, Body&& body) {
    if (made != nullptr) *made = MPI_COMM_NULL;
    return api_with_others(call, from, [&](Communicator& comm) {
        check_output(name, made);
        *made = body(comm);
    });
}

}  // namespace torusmp::mpi
