// SPDX-License-Identifier: BSD-3-Clause
// Describes the system on which a measurement ran.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// Three lines for people. Throws std::logic_error if a fact is missing.
std::string describe(const std::vector<Fact>& facts);
// One short line, for a drawing.
std::string summarize(const std::vector<Fact>& facts);

}  // namespace torusmp::bench
