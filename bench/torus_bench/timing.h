// SPDX-License-Identifier: BSD-3-Clause
// Measures the time of work that all ranks do together.
//
// Collective: every rank calls measure() with the same seconds; ranks without a part in the work
// pass an empty body. The result is the same on every rank.
#pragma once

#include <functional>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// Does the work `times` times.
using Body = std::function<void(long times)>;

struct Timing {
    long times = 1;  // number of times the work was done in each repetition
    // for doing it once; one value per repetition, of the slowest rank
    std::vector<double> seconds;

    double median() const;
    double best() const;
};

// Warms up while it searches for a number of times that fills a repetition; then does nine
// repetitions if they take at most `seconds`, or fewer, but at least three.
Timing measure(const Body& body, double seconds);
// Like measure(), but alternates between several bodies, so that disturbances affect all equally.
// `seconds` is the time for each.
std::vector<Timing> measure_in_turns(const std::vector<Body>& bodies, double seconds);

// The time of each repetition in another unit: `per_second` of 1 us is 1e6.
Figure as_time(const Timing& timing, double per_second);
// Amount per second; the fastest repetition is the best.
Figure as_rate(const Timing& timing, double amount);

// The ratio of times for each repetition: both must come from one measure_in_turns().
Figure as_time_ratio(const Timing& ours, const Timing& other);

// Processor time that this process has used, user and system, all threads.
double processor_seconds();

}  // namespace torusmp::bench
