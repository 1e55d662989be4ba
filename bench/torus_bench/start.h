// SPDX-License-Identifier: BSD-3-Clause
// Starts the job of torus-bench if a user runs it without a launcher: it replaces itself by
// torus-run, which starts it again as each rank.
//
// Called from main() before QMP is initialised, from the only thread.
#pragma once

#include "bench/torus_bench/options.h"

namespace torusmp::bench {

struct Started {
    bool by_itself = false;  // else by the user's launcher
    bool terminal = false;   // the user's standard error is a terminal
};

// Returns nothing if no launcher started this process.
std::optional<Started> started_as_rank();

// Throws config::UsageError for an output file that cannot be written, std::runtime_error if --plot
// is given but drawing is impossible.
void check_files(const Options& options);

// Searches beside this program (installed), in the neighbouring folder (build tree), and in PATH.
std::string find_torus_run();

// Does not return. Checks settings and output files before anything starts: throws
// config::ConfigError or config::UsageError; std::runtime_error if torus-run is not found.
[[noreturn]] void start_ranks(const Options& options, int argc, const char* const* argv);

// Rejects options for the launcher in a rank that the user's own launcher started.
void refuse_launcher_options(const Options& options);

}  // namespace torusmp::bench
