// SPDX-License-Identifier: BSD-3-Clause
// What faults of cables mean for a job: it starts and goes around the dead ones, or it is refused
// because those that live do not join all hosts. Pure; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/network.h"
#include "config/settings.h"
#include "routing/detours.h"

namespace torusmp::launch {

struct CableVerdict {
    std::string refusal;                // one message; empty: the job may start
    std::vector<routing::Link> dead;    // cables, which ranks are to go around from the start
    std::vector<std::string> warnings;  // lines, one a cable
};

// The settings and the hosts disagree in `faults`; if all of them are of cables, the job may start.
CableVerdict judge_cables(const config::Settings& settings, int ranks,
                          const std::vector<config::MachineFault>& faults);

// One message from all that is wrong; `hint` says what would help.
std::string refuse(const std::vector<std::string>& problems, const std::string& hint = {});

}  // namespace torusmp::launch
