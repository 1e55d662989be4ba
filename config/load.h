// SPDX-License-Identifier: BSD-3-Clause
// Computes the effective settings of a job from the command line, the environment, the geometry
// file and the defaults, in this order of precedence, each value with its origin. The schema lists
// the existing settings (job::schema()).
//
// A launcher or tool calls load() and passes export_environment() to the ranks; a rank calls
// load_for_rank() and gets the same values and origins without reading a file. Everything is
// returned by value and no state is kept; any thread may call, as long as no thread changes the
// environment. Cost without a file: some microseconds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/settings.h"

namespace torusmp::config {

struct Flag {
    std::string key;          // "transport.tokens"
    std::string value;        // "8"
    std::string option = {};  // as the user wrote it, "--torus"; "--set transport.tokens" if empty
};

struct LoadRequest {
    std::vector<Flag> flags;  // the last one wins
    std::string file;         // --config; if empty, TORUSMP_CONFIG, if set
};

// "NAME=VALUE" strings, as in environ.
using Environment = std::vector<std::string>;

// For launchers and tools. Throws ConfigError for the first invalid setting.
Settings load(const Schema& schema, const LoadRequest& request = {});
Settings load(const Schema& schema, const LoadRequest& request,
              std::span<const std::string> environment);

// For a rank. The settings handed over by the launcher replace the file and the launcher's
// environment and flags; without a handover, this is load(). The rank's own environment overrides
// values that the launcher took from environment or file, and the rank's own flags override
// everything.
Settings load_for_rank(const Schema& schema, const LoadRequest& request = {});
Settings load_for_rank(const Schema& schema, const LoadRequest& request,
                       std::span<const std::string> environment);

// The "NAME=VALUE" strings that give a rank these settings: all non-default values, in
// TORUSMP_SETTINGS (and TORUSMP_SETTINGS_1, ... if one string would be too long), and the values of
// the whole machine that differ.
std::vector<std::string> export_environment(const Settings& settings);

// Splits "transport.tokens=8". Throws ConfigError if the key or the "=" is missing.
Flag parse_set_flag(const std::string& text);

}  // namespace torusmp::config
