// SPDX-License-Identifier: BSD-3-Clause
// torus-bench simulate: what collectives cost on a torus, counted step by step instead of measured.
//
// Starts no ranks and sends nothing; called from main() alone.
#pragma once

#include "bench/figures/figures.h"
#include "bench/torus_bench/options.h"

namespace torusmp::bench {

// A row for the torus of the settings, or without one for each of a list of tori and open meshes.
// Throws config::UsageError for a root that is no rank of them, or a torus with too many ranks.
Table simulate(const Options& options);

}  // namespace torusmp::bench
