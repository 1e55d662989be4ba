// SPDX-License-Identifier: BSD-3-Clause
// Shared by the long tests: their arguments, and a crash report that names the round.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::core::testing {

// Throws std::invalid_argument that quotes the text and says what was expected.
std::uint64_t whole_number(const std::string& name, const std::string& text,
                           std::uint64_t least = 0);

struct NumberArgument {
    std::string_view name;  // "--rounds"
    std::uint64_t* value;   // the default, and what was given
    std::uint64_t least = 1;
};
// Reads arguments of the form NAME NUMBER. Throws as above, also for unknown names.
void read_numbers(int argc, char** argv, std::span<const NumberArgument> known);

// The seeds that a program of the form NAME [FIRST [COUNT]] is to run.
struct Seeds {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
};
// Takes them off the arguments and leaves what follows. Throws as above.
Seeds take_seeds(std::vector<char*>& arguments);

// If the process crashes from now on, it says in which round of which program. `program` is kept.
void tell_on_crash(std::string_view program, std::uint64_t seed);

}  // namespace torusmp::core::testing
