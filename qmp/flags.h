// The -qmp-... flags of a command line: found, checked as far as they can be alone, and taken out.
//
// Pure: no I/O, no state. Any thread may call.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

namespace torusmp::qmp {

// A flag that is wrong. what() is one whole message: flag, what was found, what was expected.
class FlagError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Flags {
    std::vector<int> geometry;       // -qmp-geom; empty: not given, or native
    bool native_geometry = false;    // -qmp-geom native
    std::vector<int> allocated_map;  // -qmp-alloc-map
    std::vector<int> logical_map;    // -qmp-logic-map
    std::vector<int> jobs;           // -qmp-job: jobs along each dimension
    std::optional<int> processes;    // -qmp-nmpi
};

// Reads the flags and takes them, with the integers behind them, out of argv; argv[argc] stays as
// it is (null). argc 0 and argv null are fine. Throws FlagError; argv is then untouched.
Flags take_flags(int& argc, char** argv);

// Checks that belong to the number of processes. Throws FlagError.
void check_flags(const Flags& flags, int processes);

// Whether `map` is a permutation of 0 .. map.size()-1.
bool is_permutation(const std::vector<int>& map);

}  // namespace torusmp::qmp
