// SPDX-License-Identifier: BSD-3-Clause
// The steps of torus-setup. Used by one thread.
#pragma once

#include "programs/torus_setup/options.h"

namespace torusmp::torus_setup {

// Returns the exit code; prints progress, changes and one line for each failure. Throws for what
// stops it before a step.
int set_up(const Options& options);

}  // namespace torusmp::torus_setup
