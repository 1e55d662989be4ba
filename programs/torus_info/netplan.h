// SPDX-License-Identifier: BSD-3-Clause
// torus-info netplan: prints the address plan for the nodes of a geometry file, or applies it on
// this host. Called from main(), once.
#pragma once

namespace torusmp::torus_info {

// `argv` begins with the word "netplan". Returns the exit code; throws like any body of
// run_program().
int run_netplan(int argc, const char* const* argv);

}  // namespace torusmp::torus_info
