// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank that shares its core yields it while it waits, judged by how long such turns of
// others take. Where only ranks take turns that is microseconds, and less than to sleep and be
// woken costs. A process that computes keeps the core for a slice of milliseconds, at each yield
// anew, and the kernel counts that against who yields; a sleeper gets the core when it is woken.
//
// Any thread may use it.
#pragma once

#include <atomic>

#include "core/transport/api/interface.h"

namespace torusmp::core {

class Yielding {
  public:
    using Clock = transport::Clock;

    bool pays(Clock::time_point now) const {
        return now >= not_before_.load(std::memory_order_relaxed);
    }
    // After a yield. One that has taken long is not repeated for several times as long: so little
    // time is lost, and it shows when nobody computes there any more.
    void yielded(Clock::time_point from, Clock::time_point to) {
        if (to - from >= long_turn)
            not_before_.store(to + pause * (to - from), std::memory_order_relaxed);
    }

    // More than the turns of all ranks of a host, less than a slice.
    static constexpr Clock::duration long_turn = std::chrono::microseconds(500);
    static constexpr int pause = 32;

  private:
    std::atomic<Clock::time_point> not_before_{Clock::time_point{}};
};

}  // namespace torusmp::core
