// The collectives' part of the settings.
#pragma once

#include "collectives/algorithm/policy.h"
#include "config/settings.h"

namespace torusmp::collectives {

// What the settings say about algorithms and checks.
Policy policy_of(const config::Settings& settings);

}  // namespace torusmp::collectives
