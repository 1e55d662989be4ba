// SPDX-License-Identifier: BSD-3-Clause
// The library's collectives for small messages as schedules, for tori too large to simulate the
// core of each rank: messages between neighbours only, in the same order as the library's, without
// credits. `torus` need not outlive the result.
#pragma once

#include "bench/predict/routes.h"

namespace torusmp::bench {

// From rank 0 down the dimension-ordered tree.
RouteProgram tree_broadcast(const routing::Torus& torus, std::size_t bytes);
// Along each line, in both directions, until all its ranks have all contributions.
RouteProgram line_sum(const routing::Torus& torus, std::size_t bytes);

}  // namespace torusmp::bench
