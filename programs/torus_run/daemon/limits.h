// What keeps this system from starting so many ranks, looked at before the first of them: a job
// that is refused by the kernel half way has done harm by then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torusmp::launch {

// One limit of the system, and what the job asks of it.
struct Limit {
    std::string of;    // "processes", "of memory"
    std::string name;  // "ulimit -u (RLIMIT_NPROC)"
    std::uint64_t most = 0;
    std::uint64_t used = 0;  // already, by this job's user, group or machine
    std::uint64_t needed = 0;
};

// The limits that are set here, each with the least that so many ranks need. `descriptors`: that
// the keeper holds for each of them.
std::vector<Limit> limits_for(int ranks, int descriptors);

// For each limit that does not hold the job a clause that says so.
std::vector<std::string> exceeded(const std::vector<Limit>& limits, int ranks);

}  // namespace torusmp::launch
