// SPDX-License-Identifier: BSD-3-Clause
// The heartbeat between daemons: when to send one, and how long this process itself was not
// running, so that a suspended job does not mistake its own sleep for the silence of a peer.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace torusmp::torus_run {

class Pulse {
  public:
    using Clock = std::chrono::steady_clock;

    // `timeout` is the silence after which a peer is considered dead.
    explicit Pulse(std::chrono::nanoseconds timeout)
        : interval_(interval(timeout)), next_(Clock::now()) {}

    static std::chrono::nanoseconds interval(std::chrono::nanoseconds timeout) {
        return std::clamp<std::chrono::nanoseconds>(timeout / 4, std::chrono::milliseconds(10),
                                                    std::chrono::seconds(1));
    }
    // A live connection is silent for this long only if its peer is very busy.
    static std::chrono::nanoseconds silence(std::chrono::nanoseconds timeout) {
        return 3 * interval(timeout);
    }
    // Time limit for a daemon that is being started, or joined by another one, on both sides: an
    // agent has to log in, which may take longer than the silence that means death.
    static std::chrono::nanoseconds login_timeout(std::chrono::nanoseconds timeout) {
        return std::max<std::chrono::nanoseconds>(std::chrono::seconds(30), timeout);
    }

    // How long to wait for events, in ms, until `next` or the next beat; -1 for no limit.
    int wait(std::optional<Clock::time_point> next, bool beating) {
        slept_from_ = Clock::now();
        if (beating) next = next ? std::min(*next, next_) : next_;
        planned_end_ = next;
        if (!next) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - slept_from_).count();
        return int(std::clamp<long long>(left, 0, 1'000'000));
    }

    // How much longer than planned this process has waited; zero unless it is so long that the
    // process cannot have been running.
    std::chrono::nanoseconds late(Clock::time_point now) const {
        const auto late = planned_end_ ? now - std::max(*planned_end_, slept_from_) : now - now;
        return late > interval_ ? std::chrono::nanoseconds(late) : std::chrono::nanoseconds(0);
    }

    // Call after the wait. Returns true if it is time to send a heartbeat.
    bool beat(Clock::time_point now) {
        asleep_ = late(now);
        longest_sleep_ = std::max(longest_sleep_, asleep_);
        if (now < next_) return false;
        next_ = now + std::chrono::duration_cast<Clock::duration>(interval_);
        return true;
    }
    std::chrono::nanoseconds asleep() const { return asleep_; }
    // The longest sleep so far, the current one included.
    std::chrono::nanoseconds longest_sleep(Clock::time_point now) const {
        return std::max(longest_sleep_, late(now));
    }

  private:
    const std::chrono::nanoseconds interval_;
    Clock::time_point next_, slept_from_;
    std::optional<Clock::time_point> planned_end_;
    std::chrono::nanoseconds asleep_{0}, longest_sleep_{0};
};

}  // namespace torusmp::torus_run
