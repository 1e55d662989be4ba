// SPDX-License-Identifier: BSD-3-Clause
// How torus-bench becomes a job when a user starts it alone: it replaces itself by torus-run, which
// starts it again, once a rank.
//
// Called from main() before QMP is initialised, from the only thread.
#pragma once

#include "bench/torus_bench/options.h"

namespace torusmp::bench {

struct Started {
    bool by_itself = false;  // else by a launcher that the user called
    bool terminal = false;   // the user's standard error is a terminal
};

// Nothing: no launcher stands above this process.
std::optional<Started> started_as_rank();

// Throws config::UsageError for a file to be written that cannot be.
void check_files(const Options& options);

// Beside this program where it is installed, one folder over in the build tree, or in PATH.
std::string find_torus_run();

// Does not return. Refuses wrong settings and files that cannot be written before anything starts:
// throws config::ConfigError or config::UsageError; std::runtime_error if there is no torus-run.
[[noreturn]] void start_ranks(const Options& options, int argc, const char* const* argv);

// A rank that the user's own launcher started cannot follow options meant for the launcher.
void refuse_launcher_options(const Options& options);

}  // namespace torusmp::bench
