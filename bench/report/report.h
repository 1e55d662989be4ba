// SPDX-License-Identifier: BSD-3-Clause
// torus-bench report: runs all measurements that this machine supports and writes a page.
//
// Called by main() in a process that is not a rank.
#pragma once

#include "bench/torus_bench/options.h"

namespace torusmp::bench {

// Throws config::UsageError and config::ConfigError before anything runs, std::runtime_error for
// files. Returns an exit code.
int report(const Options& options);

}  // namespace torusmp::bench
