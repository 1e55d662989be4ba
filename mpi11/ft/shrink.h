// SPDX-License-Identifier: BSD-3-Clause
// Shrinking and voting for other calls of the library, and MPI_Comm_ishrink for callers whose
// handles are not those of C.
#pragma once

#include <exception>

#include "mpi11/comm/duplicate.h"

namespace torusmp::mpi {

// The result on which all living members of a communicator have agreed; the same on each of them.
struct Outcome {
    bool all = false;   // of the living members said yes
    bool died = false;  // a member has
    Context first = 0;  // the lowest of the contexts that they claimed
};
// Blocks until all living members have voted. Works on revoked communicators and while members die.
Outcome vote(Communicator& comm, bool own, Context first, const char* call);

// The end of a file or window, which has the communicator `comm`: returns when all its living
// members have called this. `may_lose`: members may be dead; the same on all of them. Then, and if
// it is revoked, this is a vote. `with_all`: whether all living members take part in what follows;
// one for which making the object has failed does not.
struct Meeting {
    bool voted = false, with_all = true;
};
Meeting meet(Communicator& comm, bool may_lose, const char* call);
// For a member for which making it has failed, because another one has died or revoked it: revokes
// what the others have, and they do not wait for this member there.
void stay_away(Communicator& comm, const std::exception& why);

// MPI_Comm_shrink.
Communicator& shrunk(Communicator& comm, const char* call);

// The handle is given when the request is complete, after the call has returned.
int shrink_later(const char* call, MPI_Comm comm, GiveComm give, MPI_Request* request);

}  // namespace torusmp::mpi
