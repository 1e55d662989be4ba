// SPDX-License-Identifier: BSD-3-Clause
// torus-bench simulate: the cost of collectives on a torus, counted in steps instead of measured.
//
// Starts no ranks and sends nothing; called from main() alone.
#pragma once

#include "bench/figures/figures.h"
#include "bench/torus_bench/options.h"

namespace torusmp::bench {

// Returns a row for the torus of the settings, or else for each of a list of tori and open meshes.
// Throws config::UsageError for a root out of range, or a torus with too many ranks.
Table simulate(const Options& options);

}  // namespace torusmp::bench
