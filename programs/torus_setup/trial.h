// SPDX-License-Identifier: BSD-3-Clause
// The last steps of torus-setup: other programs of torusmp try the machine of a geometry file, with
// this terminal. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "programs/torus_setup/options.h"

namespace torusmp::torus_setup {

// Adds what the command line says about settings and agents to the command line of another program.
void add_launch(std::vector<std::string>& words, const Options& options);

// Returns whether all cables are good.
bool test_cables(const Options& options, const std::string& geometry);

// Returns whether the program succeeded, and prints how to run others. `good` means that no cable
// is faulty.
bool run_first_program(const Options& options, const std::string& geometry, bool good);

}  // namespace torusmp::torus_setup
