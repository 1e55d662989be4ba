// SPDX-License-Identifier: BSD-3-Clause
// Settings of the launch: the hosts of the ranks, and how other hosts are reached.
#pragma once

#include <string>

#include "config/binding.h"
#include "config/setting.h"
#include "config/types.h"

namespace torusmp::launch {

// How the launcher reaches the hosts: each directly, or from neighbour to neighbour.
enum class Through { network, torus };

// How a rank's output is buffered if it does not go to a terminal.
enum class Output { lines, blocks };

namespace setting {

using config::Bind;

inline const config::Setting<Bind> bind{
    "launch.bind",
    config::choice<Bind>({{"auto", Bind::automatic},
                          {"core", Bind::core},
                          {"numa", Bind::numa},
                          {"none", Bind::none}}),
    Bind::automatic,
    "Processors that ranks are bound to. core: one core per rank, while there are enough. numa: "
    "spread over NUMA nodes, any core of the node. none: any core. auto: core, or none if a rank "
    "is "
    "alone on its host or ranks outnumber cores."};
inline const config::Setting<int> cpus_per_rank{
    "launch.cpus_per_rank", config::integer_between({0, "by OMP_NUM_THREADS"}, 4096), 0,
    "Cores of each rank, next to each other. If it is 0 and launch.bind = auto, each of several "
    "ranks of a host gets as many cores as OMP_NUM_THREADS has threads, if there are enough. The "
    "option --cpus-per-rank sets it, too."};
inline const config::Setting<std::string> agent{
    "launch.agent", config::command(), "ssh",
    "Command that starts a program on another host, as AGENT HOST PROGRAM ARGUMENTS. The option "
    "--agent sets it, too."};
inline const config::Setting<Through> through{
    "launch.through",
    config::choice<Through>({{"network", Through::network}, {"torus", Through::torus}}),
    Through::network,
    "How the launcher reaches the hosts. network: each host directly, by its name. torus: from "
    "neighbour to neighbour over the links, if no other network connects the hosts."};

inline const config::Setting<Output> output{
    "launch.output", config::choice<Output>({{"lines", Output::lines}, {"blocks", Output::blocks}}),
    Output::lines,
    "How ranks buffer output that does not go to a terminal. lines: written at the end of each "
    "line, for programs in C, C++, Fortran (gfortran) and Python. blocks: the default of the "
    "language, usually blocks of 4 KiB or more: faster for millions of short lines, but a killed "
    "rank loses its last block."};

inline const config::Setting<int> universe{
    "launch.universe", config::integer_between({0, "no limit"}, 1 << 20), 0,
    "Maximum number of processes of a job, including those that MPI_Comm_spawn starts. "
    "MPI_UNIVERSE_SIZE has this value, or the number of processors if there is no limit."};

inline const config::Table table{&bind, &cpus_per_rank, &agent, &through, &output, &universe};

}  // namespace setting
}  // namespace torusmp::launch
