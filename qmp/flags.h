// SPDX-License-Identifier: BSD-3-Clause
// The -qmp-... flags of a command line: parsed, checked as far as possible without other facts, and
// removed.
//
// Pure: no I/O, no state. Any thread may call.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

namespace torusmp::qmp {

// A wrong flag. what() is one whole message: flag, what was found, what was expected.
class FlagError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Flags {
    std::vector<int> geometry;       // -qmp-geom; empty if not given, or native
    bool native_geometry = false;    // -qmp-geom native
    std::vector<int> allocated_map;  // -qmp-alloc-map
    std::vector<int> logical_map;    // -qmp-logic-map
    std::vector<int> jobs;           // jobs along each dimension, from -qmp-job
    std::optional<int> processes;    // -qmp-nmpi
};

// Reads the flags and removes them, with the integers that follow them, from argv; argv[argc] stays
// null. argc may be 0 and argv null. Throws FlagError; argv is then unchanged.
Flags take_flags(int& argc, char** argv);

// Checks that need the number of processes. Throws FlagError.
void check_flags(const Flags& flags, int processes);

// Whether `map` is a permutation of 0 .. map.size()-1.
bool is_permutation(const std::vector<int>& map);

}  // namespace torusmp::qmp
