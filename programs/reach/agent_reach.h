// SPDX-License-Identifier: BSD-3-Clause
// Reaches each host by its name through a separate agent.
#pragma once

#include <memory>
#include <string>

#include "programs/reach/reach.h"

namespace torusmp::reach {

std::unique_ptr<Reach> reach_by_agents(const std::string& agent, Plan plan);

}  // namespace torusmp::reach
