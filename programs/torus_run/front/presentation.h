// SPDX-License-Identifier: BSD-3-Clause
// Where the output of ranks appears: files in place of torus-run's own streams, or separate
// windows.
#pragma once

#include <string>

namespace torusmp::torus_run {

// Patterns of file names, in which %r stands for the rank and %h for its host. Empty for
// torus-run's own streams.
struct OutputFiles {
    std::string output, errors;

    const std::string& of(int stream) const { return stream == 0 ? output : errors; }
    bool any() const { return !output.empty() || !errors.empty(); }
};

// The program that starts a rank in a window of its own.
enum class Window { none, gdb, xterm };

}  // namespace torusmp::torus_run
