// SPDX-License-Identifier: BSD-3-Clause
// The library's collectives for small messages as schedules, to be replayed where the torus is too
// large for a core of each rank: they go the same ways in the same order, without credits.
//
// From or to rank 0; `torus` need not outlive them.
#pragma once

#include "bench/predict/routes.h"

namespace torusmp::bench {

// Down the dimension-ordered tree.
RouteProgram tree_broadcast(const routing::Torus& torus, std::size_t bytes);
// Up that tree and down again.
RouteProgram tree_sum(const routing::Torus& torus, std::size_t bytes);
// By the optimal partition, the furthest first; ranks pass on what is not for them.
RouteProgram optimal_scatter(const routing::Torus& torus, std::size_t block);

}  // namespace torusmp::bench
