// SPDX-License-Identifier: BSD-3-Clause
// The common part of the calls in which the members of an intra-communicator join other processes:
// the root does what only it can, and all members succeed or fail together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi11/spawn/joined.h"

namespace torusmp::mpi {

// The arrangements of the root. The functions may be empty.
struct Arrangement {
    MeetingPlace place;                    // without the index
    int first_index = 0;                   // of the members of the communicator, by rank
    std::unique_ptr<job::Subjob> meeting;  // null if the other side has started it
    std::function<bool()> given_up;        // the other side will not come any more
    std::function<std::string()> why;      // after that, or another failure
    std::function<void()> succeeded;
};

// Called on the root. `nodes` contains the nodes of all members, as the communicator's job numbers
// them. Throws Failure.
using Arrange = std::function<Arrangement(const job::Process& job, std::vector<int> nodes)>;

// `error` is the class of a failure after arrange(). The root's arrange() sets `number`, and all
// others receive it, also if the call fails. Collective; fails if a member dies or revokes the
// communicator.
Communicator& join_through(Communicator& comm, int root, const char* call, int error,
                           const Arrange& arrange, int* number = nullptr);
// Undoes a join that has failed elsewhere: the communicator is released, and its job is abandoned.
void give_back(Communicator& made);
struct GiveBack {
    void operator()(Communicator* made) const { give_back(*made); }
};
using OwnedJoined = std::unique_ptr<Communicator, GiveBack>;

}  // namespace torusmp::mpi
