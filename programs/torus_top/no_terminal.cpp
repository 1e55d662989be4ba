// SPDX-License-Identifier: BSD-3-Clause
// Replaces terminal.cpp in builds without ncurses.
#include <stdexcept>

#include "programs/torus_top/terminal.h"

namespace torusmp::torus_top {

int show_on_terminal(Feed&, JobView&, Choice, Recorder*) {
    throw std::runtime_error(
        "this torus-top was built without ncurses and has no screen: use --once, --json or --csv");
}

}  // namespace torusmp::torus_top
