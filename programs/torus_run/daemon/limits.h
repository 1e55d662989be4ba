// SPDX-License-Identifier: BSD-3-Clause
// Limits of this system that prevent it from starting all ranks, checked before the first one
// starts: a job that the kernel refuses half way has already done harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torusmp::torus_run {

// One limit of the system, and the amount that the job needs.
struct Limit {
    std::string of;    // "processes", "of memory"
    std::string name;  // "ulimit -u (RLIMIT_NPROC)"
    std::uint64_t most = 0;
    std::uint64_t used = 0;  // in use by the job's user, group or machine
    std::uint64_t needed = 0;
};

// The limits that are set here, each with the minimum that so many ranks need. The daemon has
// `descriptors` open files for each rank.
std::vector<Limit> limits_for(int ranks, int descriptors);

// Returns one clause for each limit that is too low for the job.
std::vector<std::string> exceeded(const std::vector<Limit>& limits, int ranks);

}  // namespace torusmp::torus_run
