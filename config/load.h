// Makes the effective settings of a job from the command line, the environment, the geometry file
// and the defaults, in this order of precedence, each value with its origin. The schema says which
// settings there are (job::schema()).
//
// A launcher or tool calls load(), gives the ranks export_environment(), and a rank calls
// load_for_rank(): it gets the same values and origins without reading a file. Everything is
// returned by value and nothing is kept; any thread may call, while none changes the environment.
// Cost without a file: some microseconds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::config {

struct Flag {
    std::string key;          // "transport.tokens"
    std::string value;        // "8"
    std::string option = {};  // as the user wrote it, "--torus"; empty: "--set transport.tokens"
};

struct LoadRequest {
    std::vector<Flag> flags;  // the last one wins
    std::string file;         // --config; empty: TORUSMP_CONFIG, or else no file
};

// "NAME=VALUE" strings, as in environ.
using Environment = std::vector<std::string>;

// For launchers and tools. Throws ConfigError for the first setting that is wrong.
Settings load(const Schema& schema, const LoadRequest& request = {});
Settings load(const Schema& schema, const LoadRequest& request,
              std::span<const std::string> environment);

// For a rank. What the launcher handed over stands in for the file and the launcher's environment
// and flags; without it, it is load(). The rank's own environment comes before what the launcher
// took from environment or file; its own flags come before everything.
Settings load_for_rank(const Schema& schema, const LoadRequest& request = {});
Settings load_for_rank(const Schema& schema, const LoadRequest& request,
                       std::span<const std::string> environment);

// The "NAME=VALUE" strings that a rank needs to see these settings: all that is not default, in
// TORUSMP_SETTINGS (and TORUSMP_SETTINGS_1, ... where that would be too long for one string).
std::vector<std::string> export_environment(const Settings& settings);

// Splits "transport.tokens=8". Throws ConfigError where there is no key or no "=".
Flag parse_set_flag(const std::string& text);

}  // namespace torusmp::config
