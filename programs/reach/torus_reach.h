// SPDX-License-Identifier: BSD-3-Clause
// Reaches hosts where no network but the torus joins them: the programs are started by torus-run's
// node daemons, each of which is started by a neighbour, and which carry what the programs say.
#pragma once

#include <memory>

#include "programs/reach/reach.h"

namespace torusmp::reach {

// `settings` must outlive it.
std::unique_ptr<Reach> reach_through_torus(const config::Settings& settings, Plan plan);

}  // namespace torusmp::reach
