// SPDX-License-Identifier: BSD-3-Clause
// Making communicators from others (MPI-1.1, sections 5.4 and 5.6). Collective over `from`.
//
// New ones inherit the error handler of the one they are made from. A returned Communicator is the
// caller's, with one reference; null: the calling process is in none.
#pragma once

#include <vector>

#include "mpi11/comm/communicator.h"
#include "mpi11/comm/group.h"

namespace torusmp::mpi {

// Nothing is exchanged: all members know members and contexts already.
Communicator& make_intra(const Communicator& from, std::vector<Rank> members, Context first);
Communicator& make_inter(const Communicator& from, std::vector<Rank> local,
                         std::vector<Rank> remote, Context first);

// Contexts for new communicators of members of an intra-communicator.
Context agree_on_contexts(Communicator& from);

// The same groups, with contexts of their own, and without attributes and topology.
Communicator& make_alike(Communicator& from);
// One for each color, its members in the order of key; MPI_UNDEFINED: none.
Communicator* make_split(Communicator& from, int color, int key);
// Of the members of a group; the groups that callers give are equal or disjoint.
Communicator* make_of_group(Communicator& from, const Members& group);
// Collective over the group alone. The tag distinguishes calls that run at the same time.
Communicator* make_by_group(Communicator& from, const Members& group, int tag);

// Its handle; MPI_COMM_NULL for null.
inline MPI_Comm handle_or_null(const Communicator* comm) {
    return comm == nullptr ? MPI_COMM_NULL : handle_of(*comm);
}

}  // namespace torusmp::mpi
