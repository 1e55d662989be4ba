// SPDX-License-Identifier: BSD-3-Clause
// The signals that torus-run forwards, and how its two processes receive them.
#pragma once

#include <csignal>

namespace torusmp::torus_run {

// The signals to forward, except those that the caller ignores (nohup), which ranks inherit. The
// first call reads the dispositions from the kernel and must come before the mask is changed.
const sigset_t& forwarded_signals();
// Flag beside a signal number: skip processes that neither catch nor ignore the signal.
inline constexpr int only_if_caught = 0x100;

// Whether the default action of the signal ends the program.
bool ends_programs(int signal);

// Blocks the forwarded signals, SIGCHLD, and the signals of a terminal or pipe whose condition is
// also reported as an error code. Returns the mask before the first call, for the ranks.
sigset_t block_signals();

}  // namespace torusmp::torus_run
