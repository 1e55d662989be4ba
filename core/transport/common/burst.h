// SPDX-License-Identifier: BSD-3-Clause
// Decides which of the small packets that a caller sends without polling leave immediately. A
// system call costs more than copying a packet, so packets in quick succession share one; but if a
// caller computes between them, as in a pipeline, its peer waits for each.
//
// A member of its channel; used under the Runtime's lock.
#pragma once

#include <chrono>

#include "core/transport/api/interface.h"

namespace torusmp::transport {

class Burst {
  public:
    // `oversubscribed` means that ranks outnumber cores. A woken peer then takes the core from
    // another rank, so fewer, larger batches are finished sooner.
    explicit Burst(bool oversubscribed)
        : succession_(oversubscribed ? when_oversubscribed : usually) {}

    // Called before a packet is sent; `turn` counts the polls. Returns false if the packet may wait
    // for the next one, or for the next poll.
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
    // Packets between two polls that leave one by one in any case.
    static constexpr unsigned most_singles = 4;
    // The time between two system calls for the packets after those: several times the cost of a
    // call.
    static constexpr std::chrono::microseconds usually{25}, when_oversubscribed{1000};

    const std::chrono::nanoseconds succession_;
    unsigned turn_ = 0;
    unsigned packets_ = 0;      // sent since then
    Clock::time_point left_{};  // when a packet after the first ones last left
};

}  // namespace torusmp::transport
