// SPDX-License-Identifier: BSD-3-Clause
// Draws a table's curves as an SVG picture with logarithmic axes.
//
// A pure function; any thread may call.
#pragma once

#include <string>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// Columns with Draw::no, empty messages and figures that are not above 0 are left out. `subtitle`
// says what it ran on. Without a single point the picture says so.
std::string as_svg(const Table& table, const std::string& subtitle);

}  // namespace torusmp::bench
