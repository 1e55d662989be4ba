// The command line of torus-run. Everything from the program's name on belongs to the program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load.h"

namespace torusmp::launch {

struct Options {
    std::optional<int> ranks;  // -np
    config::LoadRequest settings;
    bool tag_output = false;
    bool verbose = false;
    bool help = false;
    bool version = false;
    double timeout_seconds = 0;  // 0: none
    std::vector<std::string> command;
};

// Throws config::UsageError, and config::ConfigError for a --set that is no KEY=VALUE.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::launch
