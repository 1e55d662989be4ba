// Hosts as the users of mpirun name them: in a list, "-host a,b:2", or in a file, one a line. Plain
// values; only reads the file.
#pragma once

#include <string>
#include <vector>

namespace torusmp::launch {

struct HostSlots {
    std::string name;
    int slots = 1;  // ranks that it is given where nobody says how many ranks there are
};

// "a,b:2,a": each name once, in the order of its first mention, with the slots of all mentions.
// Throws config::UsageError with `option` in it for a part that is no host.
std::vector<HostSlots> parse_host_list(const std::string& text, const std::string& option);
// Lines "name", "name:2" or "name slots=2 max_slots=4"; "#" begins a comment. Throws
// config::UsageError with the line.
std::vector<HostSlots> read_host_file(const std::string& path, const std::string& option);

}  // namespace torusmp::launch
