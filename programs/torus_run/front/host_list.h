// SPDX-License-Identifier: BSD-3-Clause
// Hosts as users of mpirun name them: in a list, "-host a,b:2", or in a file, one in each line.
// Plain values; only reads the file.
#pragma once

#include <string>
#include <vector>

namespace torusmp::launch {

struct HostSlots {
    std::string name;
    int slots = 1;  // its number of ranks where the total is not given
};

// "a,b:2,a": each name once, in order of first mention, with the slots of all mentions. Throws
// config::UsageError that names `option` for a part that is not a host.
std::vector<HostSlots> parse_host_list(const std::string& text, const std::string& option);
// Lines "name", "name:2" or "name slots=2 max_slots=4"; "#" begins a comment. Throws
// config::UsageError with the line.
std::vector<HostSlots> read_host_file(const std::string& path, const std::string& option);

}  // namespace torusmp::launch
