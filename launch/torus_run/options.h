// The command line of torus-run. Everything from the program's name on belongs to the program.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/load.h"

namespace torusmp::launch {

// Something that the user must put right. what() is one whole message; torus-run exits with 2.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Options {
    std::optional<int> ranks;  // -np
    config::LoadRequest settings;
    bool tag_output = false;
    bool verbose = false;
    bool help = false;
    double timeout_seconds = 0;  // 0: none
    std::vector<std::string> command;
};

Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::launch
