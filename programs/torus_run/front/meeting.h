// SPDX-License-Identifier: BSD-3-Clause
// The variables by which programs that torchrun and its like start find each other: MASTER_ADDR,
// MASTER_PORT and the devices of their sockets and of their RDMA. RANK and the other numbers of a
// rank are added where it starts (rank_start.h).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

// Variables as "NAME=value". Rank 0 of these programs listens at MASTER_PORT of its host, a port
// that is free now if that is this host, a random one otherwise. `self` is this host's own name.
std::vector<std::string> meeting_point(const std::vector<HostPlan>& hosts, const std::string& self);

// Whether this host has the address that the plan of torus-info netplan labels.
bool has_planned_address();

// Variables as "NAME=value", for the ranks of a host that has the planned address, if other hosts
// have ranks too. `links` are the devices of its links; those with RDMA below `root` are for NCCL.
std::vector<std::string> meeting_devices(const std::vector<std::string>& links,
                                         const std::filesystem::path& root = "/");

// Whether a variable is one of these or of add_identity(), which an outer torus-run has set for its
// own ranks.
bool is_of_a_meeting(std::string_view name);

}  // namespace torusmp::torus_run
