// SPDX-License-Identifier: BSD-3-Clause
// The probe: torus-check on one host of the machine. It announces itself on the requested devices,
// and records the packets that it receives on all of them.
//
// Called from main() of the started program, once; uses standard input and output, and ends when
// standard input does, so that nothing stays behind on a host whose torus-check is gone.
#pragma once

namespace torusmp::torus_check {

// Returns the exit code. Throws if the job cannot be parsed or a system call fails.
int run_probe();

}  // namespace torusmp::torus_check
