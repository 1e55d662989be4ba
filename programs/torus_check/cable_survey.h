// SPDX-License-Identifier: BSD-3-Clause
// Tests every cable of a geometry file: which end answers over it, its losses, its speed, and the
// kernel's counters at its ends.
//
// Used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/verdict.h"

namespace torusmp::torus_check {

struct SurveyOptions {
    Expectation expectation;
    int small_probes = 0;  // to send on each device
    int large_probes = 0;  // of the size of its MTU
};

struct Survey {
    std::vector<HostResult> hosts;  // by node
    std::vector<CableResult> cables;
    std::vector<std::string> notes;
};

// The hosts have been asked.
Survey survey_cables(Coordinator& coordinator, const config::Settings& settings,
                     const SurveyOptions& options);

}  // namespace torusmp::torus_check
