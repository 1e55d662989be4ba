// What torus-run starts: made once from the command line and the settings, read-only afterwards.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "config/cpus.h"

namespace torusmp::launch {

struct RankPlan {
    int rank = 0;
    int local_rank = 0;    // its place among the ranks of its host
    config::CpuList cpus;  // empty: not bound
};

struct Job {
    std::string host;                      // this host's name, for messages
    std::string program;                   // path of the executable
    std::vector<std::string> arguments;    // argv, the program's name included
    std::vector<std::string> environment;  // "NAME=value", the same for every rank
    std::vector<RankPlan> ranks;           // by rank
    bool tag_output = false;
    bool verbose = false;
    std::chrono::milliseconds timeout{0};  // zero: none
};

// 0, 1 and 2 as in config/options.h.
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_timeout = 124;
inline constexpr int exit_signal_base = 128;

}  // namespace torusmp::launch
