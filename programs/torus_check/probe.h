// SPDX-License-Identifier: BSD-3-Clause
// The probe: torus-check on one host of the machine. It announces itself on every device it is told
// to use, and records what it hears on all of them.
//
// Called from main() of the started program, once; uses standard input and output, and ends when
// standard input does, so that nothing stays behind on a host whose torus-check is gone.
#pragma once

namespace torusmp::check {

// Returns the exit code. Throws for a job that cannot be read and a kernel that refuses.
int run_probe();

}  // namespace torusmp::check
