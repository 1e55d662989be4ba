// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/timing.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "bench/torus_bench/qmp_objects.h"

namespace torusmp::bench {
namespace {

constexpr int repetitions = 9;
constexpr int fewest_repetitions = 3;  // the median of fewer is chance

// Seconds of the slowest rank.
double timed(const Body& body, long times) {
    barrier();
    const auto start = std::chrono::steady_clock::now();
    body(times);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return maximum_over_ranks(elapsed.count());
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

double Timing::median() const {
    return median_of(seconds);
}

double Timing::best() const {
    return *std::min_element(seconds.begin(), seconds.end());
}

Timing measure(const Body& body, double seconds) {
    return measure_in_turns({body}, seconds)[0];
}

std::vector<Timing> measure_in_turns(const std::vector<Body>& bodies, double seconds) {
    const double repetition = seconds / repetitions;
    std::vector<Timing> timings(bodies.size());
    for (std::size_t b = 0; b < bodies.size(); ++b)
        for (;;) {
            const double elapsed = timed(bodies[b], timings[b].times);
            if (elapsed >= repetition / 2) break;
            timings[b].times *= elapsed < repetition / 16 ? 8 : 2;
        }
    // All ranks add up the same times, so all end with the same repetition.
    double spent = 0;
    const double budget = seconds * double(bodies.size());
    for (int i = 0; i < repetitions; ++i) {
        if (i >= fewest_repetitions && spent / i * (i + 1) > budget) break;
        for (std::size_t b = 0; b < bodies.size(); ++b) {
            const double elapsed = timed(bodies[b], timings[b].times);
            spent += elapsed;
            timings[b].seconds.push_back(elapsed / double(timings[b].times));
        }
    }
    return timings;
}

Figure as_time(const Timing& timing, double per_second) {
    Figure figure{timing.median() * per_second, timing.best() * per_second, {}, timing.times};
    for (const double s : timing.seconds) figure.samples.push_back(s * per_second);
    return figure;
}

Figure as_rate(const Timing& timing, double amount) {
    Figure figure{amount / timing.median(), amount / timing.best(), {}, timing.times};
    for (const double s : timing.seconds) figure.samples.push_back(amount / s);
    return figure;
}

namespace {

Figure ratio_of(const std::vector<double>& above, const std::vector<double>& below) {
    Figure figure;
    for (std::size_t i = 0; i < above.size(); ++i) figure.samples.push_back(above[i] / below[i]);
    figure.value = median_of(figure.samples);
    figure.best = *std::min_element(above.begin(), above.end()) /
                  *std::min_element(below.begin(), below.end());
    return figure;
}

}  // namespace

Figure as_time_ratio(const Timing& ours, const Timing& other) {
    return ratio_of(ours.seconds, other.seconds);
}

double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return double(t.tv_sec) + 1e-6 * double(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace torusmp::bench
