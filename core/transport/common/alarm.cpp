// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/alarm.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace torusmp::transport {

Alarm::Alarm() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    if (!timer_) throw std::system_error(errno, std::generic_category(), "cannot open a timerfd");
}

void Alarm::set(Clock::time_point at) {
    if (at >= at_) return;
    at_ = at;
    const auto since_boot =
        std::max<std::chrono::nanoseconds>(at.time_since_epoch(), std::chrono::nanoseconds(1));
    itimerspec when{};
    when.it_value = {since_boot.count() / 1'000'000'000, since_boot.count() % 1'000'000'000};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Alarm::silence() {
    std::uint64_t rings = 0;
    if (read(timer_.get(), &rings, sizeof rings) > 0) at_ = Clock::time_point::max();
}

}  // namespace torusmp::transport
