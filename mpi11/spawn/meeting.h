// SPDX-License-Identifier: BSD-3-Clause
// How the roots of two groups arrange the job in which both meet, once they can talk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi11/spawn/joining_call.h"
#include "mpi11/spawn/port.h"

namespace torusmp::mpi {

// Waits for it; own jobs go on meanwhile. Throws std::runtime_error if the other side is gone.
std::string next_text(Talk& talk);
// nodes: of the members of the group, by rank.
Introduction introduction(const std::vector<int>& nodes);
// Whether host_meeting() can start a job for them.
bool are_on_own_hosts(const Introduction& others);
// On one side, which starts that job. Throws std::exception, also on the other side.
Arrangement host_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                         std::vector<int> nodes);
// On the other side, which has introduced itself. Throws std::exception.
Arrangement visit_meeting(std::shared_ptr<Talk> talk);

}  // namespace torusmp::mpi
