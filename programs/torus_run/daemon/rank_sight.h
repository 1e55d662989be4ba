// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells of a rank that does not say itself what it waits for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/hang/snapshot.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

// Whether a process handles a signal by a function of its own.
bool catches(pid_t pid, int signal);

// The ranks of one host that have been asked what they wait for. Those that are in the library
// answer by themselves; the others are looked at until it is clear what they do. Processor time
// decides and not the clock, so that a busy host makes nobody look hung.
//
// Owned by LocalRanks, used by the daemon's one thread.
class Questions {
  public:
    using Clock = std::chrono::steady_clock;
    struct Subject {
        int rank = 0;
        pid_t pid = -1;
        bool connected = false;  // it has joined the job, and so knows the question
    };
    using Tell = std::function<void(RankEvent)>;
    explicit Questions(Tell tell) : tell_(std::move(tell)) {}

    void ask(const std::vector<Subject>& subjects);
    void answered(int rank);
    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const { return next_; }

  private:
    struct Open {
        Subject subject;
        bool asked = false;
        double cpu = 0;       // seconds used when it was asked
        unsigned asleep = 0;  // looks in a row that found it so
    };
    // Nothing: not clear yet.
    std::optional<job::RankState> look(Open& open) const;

    Tell tell_;
    std::vector<Open> open_;
    Clock::time_point give_up_{};
    std::optional<Clock::time_point> next_;
};

}  // namespace torusmp::launch
