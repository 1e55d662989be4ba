// SPDX-License-Identifier: BSD-3-Clause
// In place of terminal.cpp where there is no ncurses.
#include <stdexcept>

#include "programs/torus_top/terminal.h"

namespace torusmp::top {

int show_on_terminal(Feed&, JobView&, Choice, Recorder*) {
    throw std::runtime_error(
        "this torus-top was built without ncurses and has no screen: --once, --json and --csv "
        "write "
        "text");
}

}  // namespace torusmp::top
