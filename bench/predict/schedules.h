// SPDX-License-Identifier: BSD-3-Clause
// The library's collectives for small messages as schedules, to be replayed where the torus is too
// large for a core of each rank: messages between neighbours only, the same in the same order,
// without credits. `torus` need not outlive them.
#pragma once

#include "bench/predict/routes.h"

namespace torusmp::bench {

// From rank 0 down the dimension-ordered tree.
RouteProgram tree_broadcast(const routing::Torus& torus, std::size_t bytes);
// Along each line, both ways round, until everybody there has every contribution.
RouteProgram line_sum(const routing::Torus& torus, std::size_t bytes);

}  // namespace torusmp::bench
