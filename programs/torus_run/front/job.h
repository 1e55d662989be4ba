// SPDX-License-Identifier: BSD-3-Clause
// The job that torus-run starts: built once from the command line and the settings, then read-only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "job/settings.h"
#include "launch/environment.h"
#include "launch/settings.h"
#include "programs/torus_run/front/presentation.h"
#include "routing/detours.h"

namespace torusmp::torus_run {

// One host of the job. Its number is its position in the torus of nodes, or 0 if no hosts are
// listed.
struct HostPlan {
    std::string name;
    std::string where;       // "geometry.toml:5", the line that names it; empty if none
    bool here = false;       // this host, which needs no agent
    std::vector<int> ranks;  // ascending
};

// One program of the job. Most jobs have one; `mpirun -n 2 ./a : -n 4 ./b` has two.
struct Program {
    int first = 0;     // its first rank; its last is the one before the next program's first
    std::string path;  // as the user wrote it, or the path that was found
    std::vector<std::string> arguments;    // argv, the program's name included
    std::vector<std::string> environment;  // "NAME=value", takes precedence over the job's
    std::string folder;  // absolute, where its ranks start; empty for the job's working directory
};

// The streams of the ranks that go through torus-run, which keeps the lines of different ranks
// whole. Ranks write to the other streams directly.
struct Capture {
    bool output = false, errors = false;
    bool together = false;  // both lead to one file and go through one pipe

    friend bool operator==(const Capture&, const Capture&) = default;
};

// The part of a job that a host needs to start its ranks.
struct HostJob {
    int node = 0;
    std::string host;  // as the user knows it
    int size = 0;      // ranks of the whole job
    std::vector<int> ranks;
    std::array<std::byte, launch::secret_bytes> secret{};
    std::vector<Program> programs;         // by first rank; never empty
    std::vector<std::string> environment;  // "NAME=value", the same for every rank
    config::Bind bind = launch::setting::bind.initial();
    int cores_each = 0;  // of each rank; 0 to follow `bind`
    bool keep_going = false;
    std::vector<routing::Link> dead_cables;  // known before the ranks start, not in the order
    Capture capture;
    Window window = Window::none;
    std::vector<int> in_windows;         // ranks that are started in it
    std::chrono::nanoseconds timeout{};  // transport.timeout; a rank may be stopped for so long

    int program_of(int rank) const {
        int program = 0;
        while (program + 1 < int(programs.size()) &&
               programs[std::size_t(program + 1)].first <= rank)
            ++program;
        return program;
    }
};

struct Job {
    std::string host;  // this host's own name, for messages
    std::vector<HostPlan> hosts;
    HostJob common;  // common to all hosts
    config::Settings settings{job::schema()};
    std::string working_directory;
    // paths of the programs on this host; empty if it starts no rank
    std::vector<std::string> own_paths;
    std::string torus_run;  // its path on the other hosts
    bool tag_output = false;
    OutputFiles files;
    bool report_bindings = false;
    bool verbose = false;
    std::chrono::milliseconds timeout{0};  // of the whole job; zero: none
    std::string reports;   // folder for reports of ranks in a hang; empty if none are written
    int restart = 0;       // number of this restart; 0 at the first start
    int restarts = 0;      // as many follow deaths at most
    bool movable = false;  // other hosts may take the places of hosts that dead cables cut off

    int size() const { return common.size; }
};

// The knowledge of a job that starts again about its hosts.
struct Restart {
    int number = 0;                     // 0 for the first start
    const Job* before = nullptr;        // the job that ended last; null at the first start
    std::vector<std::string> lost;      // hosts that died, used only if the others are too few
    std::vector<std::string> unusable;  // hosts that could not be used since the last death
};

// Returns the file for a stream of a rank, by rank and stream; an empty path, or no function,
// stands for torus-run's own stream. The job must outlive the function.
std::function<std::string(int, int)> files_of(const Job& job);

// Codes 0, 1 and 2 are as in config/options.h.
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_timeout = 124;
inline constexpr int exit_signal_base = 128;

}  // namespace torusmp::torus_run
