// SPDX-License-Identifier: BSD-3-Clause
// What keeps this system from starting so many ranks, checked before the first of them: a job that
// the kernel refuses half way has already done harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torusmp::launch {

// One limit of the system, and what the job needs of it.
struct Limit {
    std::string of;    // "processes", "of memory"
    std::string name;  // "ulimit -u (RLIMIT_NPROC)"
    std::uint64_t most = 0;
    std::uint64_t used = 0;  // already in use, by this job's user, group or machine
    std::uint64_t needed = 0;
};

// The limits that are set here, each with the least that so many ranks need. `descriptors`: those
// that the daemon holds for each of them.
std::vector<Limit> limits_for(int ranks, int descriptors);

// A clause for each limit that is too low for the job.
std::vector<std::string> exceeded(const std::vector<Limit>& limits, int ranks);

}  // namespace torusmp::launch
