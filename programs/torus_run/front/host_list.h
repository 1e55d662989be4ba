// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts in the syntax of mpirun: "-host a,b:2", or a file with one host per line. Plain
// values; only the file is read.
#pragma once

#include <string>
#include <vector>

namespace torusmp::torus_run {

struct HostSlots {
    std::string name;
    int slots = 1;  // ranks on this host if the total is not given
};

// Parses "a,b:2,a": each name once, in order of first mention, with the slots of all mentions
// added. Throws config::UsageError, which names `option`, for an item that is not a host.
std::vector<HostSlots> parse_host_list(const std::string& text, const std::string& option);
// Reads lines "name", "name:2" or "name slots=2 max_slots=4"; "#" begins a comment. Throws
// config::UsageError with the line.
std::vector<HostSlots> read_host_file(const std::string& path, const std::string& option);

}  // namespace torusmp::torus_run
