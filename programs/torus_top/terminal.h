// SPDX-License-Identifier: BSD-3-Clause
// The screen on a terminal.
#pragma once

#include "programs/torus_top/feed.h"
#include "programs/torus_top/screen.h"

namespace torusmp::top {

// Until the user quits. The job may end meanwhile: its last state stays on the screen. Returns the
// exit code. Throws std::runtime_error if there is no terminal, or this build knows none.
int show_on_terminal(Feed& feed, JobView& view, Choice choice, Recorder* recorder);

}  // namespace torusmp::top
