// SPDX-License-Identifier: BSD-3-Clause
// How the roots of two groups arrange the job in which both meet, once they can talk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpi11/spawn/joining_call.h"
#include "mpi11/spawn/port.h"

namespace torusmp::mpi {

// Waits for the next message. Throws std::runtime_error if the other side has left.
std::string await_message(Talk& talk);
// Throws Failure.
Invitation await_invitation(Talk& talk);

// `nodes` contains the nodes of the members of the group, by rank.
Introduction introduction(const job::Process& job, const std::vector<int>& nodes);
// The nodes of the others. Throws Failure.
std::vector<int> nodes_of(const Introduction& others, const job::Process& job);
bool are_on_hosts_of(const job::Process& job, const Introduction& others);

// Called on one side. Starts the job in which both meet. Throws Failure if this side cannot;
// returns nothing if the other side cannot join, or has left.
std::optional<Arrangement> host_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                                        const job::Process& job, std::vector<int> nodes);
// The same if no other caller can come. Throws Failure, or std::runtime_error.
Arrangement host_only_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                              const job::Process& job, const std::vector<int>& nodes);
// On the other side. Throws Failure.
Arrangement visit_meeting(std::shared_ptr<Talk> talk, const Invitation& invitation);

}  // namespace torusmp::mpi
