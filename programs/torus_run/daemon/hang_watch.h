// SPDX-License-Identifier: BSD-3-Clause
// Asks all ranks what they wait for, and reports once why the job makes no progress: on the user's
// request, when ranks have waited for too long, and when the job's time limit expires.
//
// Owned by the coordinator and used by its one thread. Ranks are reached through `ask`.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/hang/snapshot.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/output.h"

namespace torusmp::torus_run {

class HangWatch {
  public:
    using Clock = std::chrono::steady_clock;
    // The reason of a round: the user's request, ranks that wait for too long, or the time limit.
    enum class Why { user, overdue, timeout };
    using Ask = std::function<void()>;
    // The launcher's own knowledge of a rank; nullopt if only the rank or its host can answer.
    using Known = std::function<std::optional<job::RankState>(int rank)>;

    HangWatch(const Job& job, Outputs& outputs, Ask ask, Known known)
        : job_(job), outputs_(outputs), ask_(std::move(ask)), known_(std::move(known)) {}

    // Starts a round of questions, unless one is under way.
    void want(Why why);
    bool busy() const { return round_ || again_; }
    // Handles RankEvents `waits` and `seen`. Returns false if the event is malformed.
    bool heard(const RankEvent& event);
    // The rank will not answer.
    void lost(int rank);

    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;

  private:
    struct Round {
        Why why{};
        job::Snapshot states;
        std::vector<bool> open;
        std::size_t missing = 0;
        Clock::time_point ends{};  // the round ends then, even if answers are missing
        int repeats = 0;           // rounds repeated because some ranks were still active
    };

    void begin(Why why, int repeats);
    void record(int rank, job::RankState state);
    void finish();
    std::string name_of_cable(int rank, int direction) const;
    void write_reports(const job::Snapshot& states);

    const Job& job_;
    Outputs& outputs_;
    Ask ask_;
    Known known_;
    std::optional<Round> round_;
    std::optional<Clock::time_point> again_;  // when the round is repeated
    Why again_why_{};
    int again_repeats_ = 0;
    std::optional<Clock::time_point> quiet_until_;  // after a report that the user did not request
    std::chrono::nanoseconds quiet_{0};
    bool failed_to_write_ = false;
};

}  // namespace torusmp::torus_run
