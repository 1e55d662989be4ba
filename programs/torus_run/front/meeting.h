// SPDX-License-Identifier: BSD-3-Clause
// The variables by which programs that torchrun and its like start find each other: MASTER_ADDR,
// MASTER_PORT and the device of their sockets. RANK and the other numbers of a rank are added where
// it starts (rank_start.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

// "NAME=value". Rank 0 of these programs listens at MASTER_PORT of its host: a port that is free
// now if that is this host, a random one otherwise. The devices are known only if all ranks are on
// this host: over the torus, no one device leads to all hosts. `self`: this host's own name.
std::vector<std::string> meeting_point(const std::vector<HostPlan>& hosts, const std::string& self);

// Whether a variable is one of these or of add_identity(), which an outer torus-run has set for its
// own ranks.
bool is_of_a_meeting(std::string_view name);

}  // namespace torusmp::torus_run
