// SPDX-License-Identifier: BSD-3-Clause
// The kernel's view of a rank that does not answer what it waits for.
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

namespace torusmp::torus_run {

// Whether a process has a handler of its own for a signal.
bool catches(pid_t pid, int signal);

// The ranks of one host that have been asked what they wait for. Ranks inside the library answer by
// themselves; the others are sampled until their state is clear. The decision uses processor time,
// not the clock, so that no rank looks hung on a busy host.
//
// Owned by LocalRanks, used by the daemon's one thread.
class Questions {
  public:
    using Clock = std::chrono::steady_clock;
    struct Subject {
        int rank = 0;
        pid_t pid = -1;
        bool connected = false;  // it has joined the job, and so understands the question
    };
    using Report = std::function<void(RankEvent)>;
    explicit Questions(Report report) : report_(std::move(report)) {}

    void ask(const std::vector<Subject>& subjects);
    void answered(int rank);
    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const { return next_; }

  private:
    struct Open {
        Subject subject;
        bool asked = false;
        double cpu = 0;       // seconds used when the rank was asked
        unsigned asleep = 0;  // consecutive samples that found it asleep
    };
    // Returns nothing while the state is not clear.
    std::optional<job::RankState> look(Open& open) const;

    Report report_;
    std::vector<Open> open_;
    Clock::time_point give_up_{};
    std::optional<Clock::time_point> next_;
};

}  // namespace torusmp::torus_run
