// SPDX-License-Identifier: BSD-3-Clause
// torus-stand-in TABLE: a rank of a job of processes that have joined (MPI_Comm_spawn,
// MPI_Comm_accept), started by the library through torus-run. TABLE has an entry for each rank,
// separated by commas: the number of the process to which the rank's place is passed on, with a +
// if that process is being started; or "-" for a rank that only passes on messages of others. The
// environment contains the place where they meet.
//
// torus-stand-in --place: the place of a rank that has left the job and ended, which others join
// again (a first session after MPI_Finalize). Started by torus-run.
//
// torus-stand-in --port PLACE HOST: carries bytes to a port of this host, which its messages call
// HOST (MPI_Comm_connect on another one). torus-stand-in --look-up SERVICE: prints the port that is
// published on this host as SERVICE, in hexadecimal digits (MPI_Lookup_name on another host).
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "job/process.h"
#include "launch/environment.h"
#include "launch/far_port.h"
#include "launch/stand_in.h"

namespace {

std::string_view entry_of(std::string_view table, int rank) {
    for (; rank > 0; --rank) {
        const std::size_t comma = table.find(',');
        if (comma == std::string_view::npos) return {};
        table.remove_prefix(comma + 1);
    }
    return table.substr(0, table.find(','));
}

// A rank that only passes on messages of others. joined: they exchange who they are.
int pass_on(bool joined) {
    using namespace torusmp;
    try {
        const auto process = job::Process::acquire(true);
        if (joined) process->exchange({});
        process->leave("the end of a job, for which it passes messages on");
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "torus-stand-in: {}\n", error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    using namespace torusmp;
    if (argc == 4 && argv[1] == std::string_view("--port"))
        return launch::carry_to_port(argv[2], argv[3]);
    if (argc == 3 && argv[1] == std::string_view("--look-up"))
        return launch::print_port_of(argv[2]);
    if (argc == 2 && argv[1] == std::string_view("--place")) return pass_on(false);
    const char* const rank = std::getenv(launch::env_rank);
    const char* const meeting = std::getenv(launch::env_meeting);
    std::string_view entry = argc == 2 && rank != nullptr && meeting != nullptr
                                 ? entry_of(argv[1], std::atoi(rank))
                                 : std::string_view();
    if (entry.empty()) {
        fmt::print(stderr,
                   "torus-stand-in: started by MPI_Comm_spawn and similar calls, not by users\n");
        return 2;
    }
    const bool runs = entry.front() != '+';
    if (!runs) entry.remove_prefix(1);
    if (entry != "-") return launch::stand_in(fmt::format("{}-{}", meeting, entry), runs);
    return pass_on(true);
}
