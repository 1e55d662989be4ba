// SPDX-License-Identifier: BSD-3-Clause
// The interactive display on a terminal.
#pragma once

#include "programs/torus_top/feed.h"
#include "programs/torus_top/screen.h"

namespace torusmp::torus_top {

// Runs until the user quits; when the job ends, its last state stays on the screen. Returns the
// exit code. Throws std::runtime_error if standard output is not a terminal, or this build does not
// support one.
int show_on_terminal(Feed& feed, JobView& view, Choice choice, Recorder* recorder);

}  // namespace torusmp::torus_top
