// SPDX-License-Identifier: BSD-3-Clause
// torus-bench predict: what messages and collectives take on a machine that is described by a
// model; and torus-bench fit, which makes a model from what other runs have measured. Nothing is
// started.
//
// Throws config::UsageError and config::ConfigError, and std::runtime_error for files that are no
// models or no measurements.
#pragma once

#include <string>

#include "bench/figures/figures.h"
#include "bench/torus_bench/options.h"
#include "bench/torus_bench/progress.h"

namespace torusmp::bench {

Table predict(const Options& options, Progress& progress);
// The models that are known by name, a line each.
std::string models_text();

// The model, as a file that --model takes.
std::string fit(const Options& options);

}  // namespace torusmp::bench
