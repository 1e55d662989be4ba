// SPDX-License-Identifier: BSD-3-Clause
// What differs between two runs of the same measure by more than the noise of either.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

struct Change {
    std::string what;  // "64 B, one way"
    std::string unit;
    double before = 0, now = 0;
    double ratio = 0;  // of the times, now to before: below 1, it has become faster
};

// Whether chance alone would hardly part the samples like this: all of one run lie above all of the
// other, and where there are too few of them to say so, by more than either scatters.
bool beyond_noise(const Figure& before, const Figure& now);

// Of the rows and columns that both have. Only times and rates change for better or worse; shares
// and ratios are left out.
std::vector<Change> changes_between(const Table& before, const Table& now);

}  // namespace torusmp::bench
