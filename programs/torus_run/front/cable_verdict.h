// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a job with faulty cables starts: it goes around dead cables, or is refused if the
// live ones do not connect all hosts. Pure; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/network.h"
#include "config/settings.h"
#include "routing/detours.h"

namespace torusmp::torus_run {

struct CableVerdict {
    std::string refusal;                // one message; empty if the job may start
    std::vector<routing::Link> dead;    // cables that ranks go around from the start
    std::vector<std::string> warnings;  // lines, one per cable
    std::vector<int> unusable = {};     // nodes that the refusal is about, if others could start
    bool cut = false;                   // dead cables separate these from the others
};

// `faults` are the differences between settings and hosts. The job may start only if all of them
// are faults of cables.
CableVerdict judge_cables(const config::Settings& settings, int ranks,
                          const std::vector<config::MachineFault>& faults);

// Why jobs cannot go around dead cables; empty if they can.
std::string why_no_detours(const config::Settings& settings);

// Combines all problems in one message; `hint` is advice.
std::string refuse(const std::vector<std::string>& problems, const std::string& hint = {});

}  // namespace torusmp::torus_run
