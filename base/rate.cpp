// SPDX-License-Identifier: BSD-3-Clause
#include "base/rate.h"

#include <algorithm>

namespace torusmp {

double Rate::microseconds(Clock::duration time) {
    return std::max(std::chrono::duration<double, std::micro>(time).count(), 1e-3);
}

double Rate::of(std::size_t bytes, Clock::duration time) {
    return double(bytes) / microseconds(time);
}

void Rate::add(double sample) {
    // Cold caches, page faults and a core that was lost for a while make a sample too slow; nothing
    // makes it too fast.
    value_ = sample > value_ ? sample : value_ + (sample - value_) / 16;
    if (++samples_ < trusted) return;
    published_->store(std::uint32_t(std::clamp(value_, 1.0, 1e9)), std::memory_order_relaxed);
}

}  // namespace torusmp
