// SPDX-License-Identifier: BSD-3-Clause
// torus-bench predict: predicts the time of messages and collectives on a machine described by a
// model; and torus-bench fit, which makes a model from earlier measurements. Neither starts a job.
//
// Throws config::UsageError and config::ConfigError, and std::runtime_error for files that are not
// models or measurements.
#pragma once

#include <string>

#include "bench/figures/figures.h"
#include "bench/torus_bench/options.h"
#include "bench/torus_bench/progress.h"

namespace torusmp::bench {

Table predict(const Options& options, Progress& progress);
// Lists the named models, one per line.
std::string models_text();

// Returns the model in the file format of --model.
std::string fit(const Options& options);

}  // namespace torusmp::bench
