// SPDX-License-Identifier: BSD-3-Clause
// Finds differences between two runs of the same measure that exceed the noise of both.
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
    double ratio = 0;  // ratio of times, now to before; below 1: faster now
};

// Whether the samples differ by more than chance: all samples of one run are above all of the other
// and, if there are too few of them to decide, the distance exceeds the scatter of both.
bool beyond_noise(const Figure& before, const Figure& now);

// Compares the rows and columns that both have. Only times and rates count as better or worse;
// shares and ratios are left out.
std::vector<Change> changes_between(const Table& before, const Table& now);

}  // namespace torusmp::bench
