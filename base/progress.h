// SPDX-License-Identifier: BSD-3-Clause
// The progress of a long piece of work, for a line on a terminal: "37 %, 4 s left".
//
// A pure function; any thread may call.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace torusmp::base {

// `done` of `of` steps, which took `elapsed`; the rest is extrapolated. No time is given before the
// first step is done, nor in the first second, when it would be a guess.
std::string progress_text(std::size_t done, std::size_t of, std::chrono::nanoseconds elapsed);

}  // namespace torusmp::base
