// The command line of torus-run. Everything from the program's name on belongs to the program.
#pragma once

#include <chrono>
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
    bool keep_going = false;
    std::string here;       // the name of this host among nodes.hosts; empty: its own
    std::string torus_run;  // its path on other hosts; empty: the same as here
    bool help = false;
    bool version = false;
    double timeout_seconds = 0;  // 0: none
    std::vector<std::string> command;
    // Set where an agent started this: no job of its own, but the keeper of another one's host.
    std::optional<std::chrono::milliseconds> keeper_timeout;
};

// Throws config::UsageError, and config::ConfigError for a --set that is no KEY=VALUE.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::launch
