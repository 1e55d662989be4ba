// SPDX-License-Identifier: BSD-3-Clause
#include "base/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace torusmp::base {
namespace {

using namespace std::chrono_literals;

// Whole seconds, then whole minutes: the estimate is not more accurate.
std::string rough_time(std::chrono::nanoseconds time) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
    if (seconds < 120) return fmt::format("{} s", seconds);
    const auto minutes = (seconds + 59) / 60;
    if (minutes < 120) return fmt::format("{} min", minutes);
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string progress_text(std::size_t done, std::size_t of, std::chrono::nanoseconds elapsed) {
    of = std::max<std::size_t>(of, 1);
    done = std::min(done, of);
    const double share = double(done) / double(of);
    const std::string percent = fmt::format("{} %", int(100 * share));
    if (done == 0 || done == of || elapsed < 1s) return percent;
    const auto left = std::chrono::duration<double, std::nano>(elapsed) * (1 / share - 1);
    return fmt::format("{}, {} left", percent,
                       rough_time(std::chrono::duration_cast<std::chrono::nanoseconds>(left)));
}

}  // namespace torusmp::base
