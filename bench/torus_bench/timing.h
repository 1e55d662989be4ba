// SPDX-License-Identifier: BSD-3-Clause
// Times a piece of work that all ranks do together.
//
// Collective: every rank calls measure() with the same seconds; ranks without a part in the work
// give a body that does nothing. The result is the same on every rank.
#pragma once

#include <functional>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// Does the work so many times.
using Body = std::function<void(long times)>;

struct Timing {
    long times = 1;               // the work was done so often in each repetition
    std::vector<double> seconds;  // for doing it once; one a repetition, of the slowest rank

    double median() const;
    double best() const;
};

// Warms up while it looks for a number of times that fills a repetition; then repeats, nine times
// if that takes no more than `seconds`. Work so slow that it takes longer is done three times at
// least.
Timing measure(const Body& body, double seconds);
// The same for several bodies in turns, so that whatever else the machine does falls on all alike.
// `seconds` for each.
std::vector<Timing> measure_in_turns(const std::vector<Body>& bodies, double seconds);

// The time of each repetition in another unit: `per_second` of 1 us is 1e6.
Figure as_time(const Timing& timing, double per_second);
// Amount a second; the fastest repetition is the best.
Figure as_rate(const Timing& timing, double amount);

// Of the times. Repetition by repetition: the two must come from one measure_in_turns().
Figure as_time_ratio(const Timing& ours, const Timing& other);

// Processor time that this process has used, user and system, all threads.
double processor_seconds();

}  // namespace torusmp::bench
