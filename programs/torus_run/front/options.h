// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-run, and of mpirun and mpiexec, which are other names of it. Everything
// from the program's name on belongs to the program; under the other names, up to a ":".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "programs/torus_run/front/host_list.h"
#include "programs/torus_run/front/presentation.h"

namespace torusmp::launch {

// One program of the job; mpirun takes several, with ":" between them.
struct ProgramOptions {
    std::optional<int> ranks;              // -np
    std::vector<std::string> environment;  // "NAME=VALUE", each name once
    std::string folder;                    // -wdir; empty: where torus-run was started
    std::vector<std::string> command;
};

struct Options {
    std::vector<ProgramOptions> programs;  // never empty, but the command of a single one may be
    std::vector<HostSlots> hosts;          // -host and -hostfile
    config::LoadRequest settings;
    bool tag_output = false;
    OutputFiles files;
    Window window = Window::none;
    std::string in_windows;  // ranks, as given: "0,4-7" or "all"
    bool report_bindings = false;
    int ranks_per_host = 0;            // -ppn; 0: not given
    std::vector<std::string> ignored;  // what was given and does nothing, as whole lines
    bool verbose = false;
    bool keep_going = false;
    std::string here;       // which of nodes.hosts this host is; empty: by its own name
    std::string torus_run;  // its path on other hosts; empty: the same as here
    bool help = false;
    bool version = false;
    double timeout_seconds = 0;  // 0: none
    std::string reports;         // folder for reports of ranks in a hang; empty: none
    // Set when an agent started this: not a job of its own, but the daemon of a host of another
    // one's.
    std::optional<std::chrono::milliseconds> daemon_timeout;
    std::uint64_t join_version = 0;  // of the ways by which it comes
    std::string join;  // the daemon that runs on this host already, and gets another connection
};

// Throws config::UsageError, and config::ConfigError for a --set that is no KEY=VALUE.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::launch
