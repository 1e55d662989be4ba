// SPDX-License-Identifier: BSD-3-Clause
// Where the user sees ranks: files in place of torus-run's own streams, windows of their own.
#pragma once

#include <string>

namespace torusmp::launch {

// By pattern: %r is the rank, %h its host. Empty: torus-run's own streams.
struct OutputFiles {
    std::string output, errors;

    const std::string& of(int stream) const { return stream == 0 ? output : errors; }
    bool any() const { return !output.empty() || !errors.empty(); }
};

// What a rank is started in, beside a window of its own.
enum class Window { none, gdb, xterm };

}  // namespace torusmp::launch
