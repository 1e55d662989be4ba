// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/progress.h"

namespace torusmp::bench {

Progress::~Progress() {
    clear();
}

void Progress::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

void Progress::expect(std::size_t steps) {
    steps_ = steps;
    begun_ = 0;
    start_ = Clock::now();
}

void Progress::step(const std::string& name, std::size_t steps) {
    const std::size_t done = begun_;
    begun_ += steps;
    if (!shown_) return;
    fmt::print(stderr, "\r\033[Kmeasuring {}: {}", name,
               base::progress_text(done, steps_, Clock::now() - start_));
    std::fflush(stderr);
}

}  // namespace torusmp::bench
