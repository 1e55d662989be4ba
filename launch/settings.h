// SPDX-License-Identifier: BSD-3-Clause
// What a user may set of the launch: where ranks run, and how other hosts are reached.
#pragma once

#include <string>

#include "config/binding.h"
#include "config/setting.h"
#include "config/types.h"

namespace torusmp::launch {

// How the launcher reaches the hosts: each directly, or from neighbour to neighbour.
enum class Through { network, torus };

namespace setting {

using config::Bind;

inline const config::Setting<Bind> bind{
    "launch.bind",
    config::choice<Bind>({{"auto", Bind::automatic},
                          {"core", Bind::core},
                          {"numa", Bind::numa},
                          {"none", Bind::none}}),
    Bind::automatic,
    "Where ranks may run. core: each on a core of its own while there are enough. numa: spread "
    "over the NUMA nodes, free inside one. none: anywhere. auto: core, or none where ranks "
    "outnumber cores."};
inline const config::Setting<std::string> agent{
    "launch.agent", config::command(), "ssh",
    "The command that starts a program on a host: AGENT HOST PROGRAM ARGUMENTS. The flag --agent "
    "is short for it."};
inline const config::Setting<Through> through{
    "launch.through",
    config::choice<Through>({{"network", Through::network}, {"torus", Through::torus}}),
    Through::network,
    "How the launcher reaches the hosts. network: each one directly, by its name. torus: from "
    "neighbour to neighbour over the links, where no other network joins the hosts."};

inline const config::Table table{&bind, &agent, &through};

}  // namespace setting
}  // namespace torusmp::launch
