// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-run, and of its aliases mpirun and mpiexec. Everything from the
// program's name on belongs to the program; under the aliases, up to a ":".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "programs/torus_run/front/host_list.h"
#include "programs/torus_run/front/presentation.h"

namespace torusmp::torus_run {

// One program of the job; mpirun accepts several, separated by ":".
struct ProgramOptions {
    std::optional<int> ranks;              // -np
    std::vector<std::string> environment;  // "NAME=VALUE", each name once
    std::string folder;  // -wdir; empty for the folder where torus-run was started
    std::vector<std::string> command;
};

struct Options {
    std::vector<ProgramOptions> programs;  // never empty, but the command of a single one may be
    std::vector<HostSlots> hosts;          // -host and -hostfile
    config::LoadRequest settings;
    bool tag_output = false;
    OutputFiles files;
    Window window = Window::none;
    std::string in_windows;  // ranks as given, such as "0,4-7" or "all"
    bool report_bindings = false;
    bool display_map = false;
    bool quiet = false;                 // does not print `ignored`
    int ranks_per_host = 0;             // -ppn; 0 if not given
    std::string ranks_per_host_option;  // "-ppn 2", as given
    std::vector<std::string> ignored;   // options that have no effect, as whole lines
    bool verbose = false;
    bool keep_going = false;
    int restarts = 0;                  // --restart-on-death
    std::vector<std::string> without;  // hosts that the job must not use
    std::string here;                  // this host's name in nodes.hosts; empty for its own name
    std::string torus_run;             // its path on other hosts; empty if the same as here
    bool help = false;
    bool version = false;
    double timeout_seconds = 0;  // 0 if none
    std::string reports;         // folder for reports of ranks in a hang; empty if none
    // Set when an agent started this process: it is a daemon of another process's job.
    std::optional<std::chrono::milliseconds> daemon_timeout;
    std::uint64_t join_version = 0;  // version of the tree that joins the daemon
    std::string join;  // name of the running daemon on this host that gets a new connection
};

// Throws config::UsageError, and config::ConfigError for a --set that is not KEY=VALUE.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::torus_run
