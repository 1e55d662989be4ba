// SPDX-License-Identifier: BSD-3-Clause
// Which signals torus-run passes on, and how its two processes listen.
#pragma once

#include <csignal>

namespace torusmp::launch {

// Those to pass on, without the ones that our caller wants ignored (nohup): ranks inherit that. The
// first call asks the kernel and must come before the mask is changed.
const sigset_t& forwarded_signals();
// Beside the number of a signal: processes that neither catch nor ignore it do not get it.
inline constexpr int only_if_caught = 0x100;

// By default such a signal ends the program.
bool ends_programs(int signal);

// Blocks what is passed on, SIGCHLD, and the signals of a terminal or pipe that come as error codes
// instead. Returns the mask that was in force, for the ranks.
sigset_t block_signals();

}  // namespace torusmp::launch
