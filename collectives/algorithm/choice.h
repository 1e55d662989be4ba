// SPDX-License-Identifier: BSD-3-Clause
// The text form of a choice of algorithms, in one line: "host: lines<128KiB scatter; crowded:
// lines; links: tree<32KiB disjoint". Algorithms without a situation in front of them apply to all
// situations; situations that are not named keep their default.
#pragma once

#include <string>
#include <string_view>

#include "collectives/group/policy.h"

namespace torusmp::collectives {

// Situations that the text does not name keep their choice of `base`. Throws std::invalid_argument
// with the found and the expected text.
Choice parse_choice(const AlgorithmTable& table, std::string_view text, Choice base);
std::string format_choice(const AlgorithmTable& table, const Choice& choice);

}  // namespace torusmp::collectives
