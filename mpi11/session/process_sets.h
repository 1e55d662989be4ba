// SPDX-License-Identifier: BSD-3-Clause
// The process sets that sessions offer: those of the standard, and the parts of the torus of ranks
// that contain the calling process.
//
//   mpi://WORLD       all ranks of the job
//   mpi://SELF        the calling process
//   torus://HOST      the ranks of its host
//   torus://row/D     the ranks that differ from it in the coordinate of dimension D alone
//   torus://plane/D   the ranks that agree with it in the coordinate of dimension D
//
// Rows exist from two dimensions on, planes from three on. Members are in the order of their ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi11/comm/members.h"

namespace torusmp::mpi {

// The names of all process sets, in the same order on all ranks.
std::vector<std::string> names_of_process_sets();
// The members of a process set; nullopt if the name is unknown. Upper and lower case are the same.
std::optional<Members> process_set(std::string_view name);

}  // namespace torusmp::mpi
