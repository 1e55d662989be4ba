// SPDX-License-Identifier: BSD-3-Clause
// What a measurement ran on, in words.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// For people, in three lines. Throws std::logic_error where a fact is missing.
std::string describe(const std::vector<Fact>& facts);
// In one short line, for a drawing.
std::string summarize(const std::vector<Fact>& facts);

}  // namespace torusmp::bench
