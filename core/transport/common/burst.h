// SPDX-License-Identifier: BSD-3-Clause
// Which of the small packets that a caller sends without polling leave at once. A system call costs
// more than copying a packet, so those that come thick and fast share one; but a caller that
// computes between them, as in a pipeline, has a peer that waits for each.
//
// A member of its channel, used under the Runtime's lock.
#pragma once

#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport {

class Burst {
  public:
    // crowded: ranks outnumber cores, so a peer that is woken takes the core from another, and
    // fewer, larger lumps are sooner done.
    explicit Burst(bool crowded) : succession_(crowded ? when_crowded : usually) {}

    // A packet is about to be sent after that many polls. False: it may wait for the next one, or
    // for the poll that follows.
    bool leaves_at_once(unsigned turn) {
        if (turn_ != turn) {
            turn_ = turn;
            packets_ = 0;
        }
        if (++packets_ < most_singles) return true;
        const auto now = Clock::now();
        if (packets_ > most_singles && now - left_ < succession_) return false;
        left_ = now;
        return true;
    }

  private:
    // Packets between two polls that go out one by one in any case.
    static constexpr unsigned most_singles = 4;
    // From one system call to the next for those behind them: several times what a call takes.
    static constexpr std::chrono::microseconds usually{25}, when_crowded{1000};

    const std::chrono::nanoseconds succession_;
    unsigned turn_ = 0;
    unsigned packets_ = 0;      // sent since then
    Clock::time_point left_{};  // when one of them left that was not among the first
};

}  // namespace torusmp::transport
