// SPDX-License-Identifier: BSD-3-Clause
// The test of every cable of a geometry file: who is heard over it, what is lost on it, how fast it
// is, and what the kernels count at its ends.
//
// Used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/verdict.h"

namespace torusmp::check {

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

}  // namespace torusmp::check
