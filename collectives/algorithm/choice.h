// SPDX-License-Identifier: BSD-3-Clause
// How a setting writes the choice of algorithms, in one line: "host: lines<128KiB scatter; crowded:
// lines; links: tree<32KiB disjoint". Algorithms without a situation in front of them hold for all;
// what is not named keeps its default.
#pragma once

#include <string>
#include <string_view>

#include "collectives/group/policy.h"

namespace torusmp::collectives {

// Throws std::invalid_argument that says what was found and what was expected. base: the choice
// where the text says nothing.
Choice parse_choice(const AlgorithmTable& table, std::string_view text, Choice base);
std::string format_choice(const AlgorithmTable& table, const Choice& choice);

}  // namespace torusmp::collectives
