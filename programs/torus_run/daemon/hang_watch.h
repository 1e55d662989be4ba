// SPDX-License-Identifier: BSD-3-Clause
// Asks all ranks what they wait for, and says once why the job does not go on: when the user asks,
// when ranks have waited for long, and at the end of the job's time.
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

namespace torusmp::launch {

class HangWatch {
  public:
    using Clock = std::chrono::steady_clock;
    // Why it is asked: by the user, because ranks wait for long, or because the job is ended.
    enum class Why { user, overdue, timeout };
    using Ask = std::function<void()>;
    // What the launcher itself knows of a rank; nothing: only the rank, or its host, can tell.
    using Known = std::function<std::optional<job::RankState>(int rank)>;

    HangWatch(const Job& job, Outputs& outputs, Ask ask, Known known)
        : job_(job), outputs_(outputs), ask_(std::move(ask)), known_(std::move(known)) {}

    // A round of questions begins, unless one is under way.
    void want(Why why);
    bool busy() const { return round_ || again_; }
    // RankEvents `waits` and `seen`. False: it is damaged.
    bool heard(const RankEvent& event);
    // The rank answers no more.
    void lost(int rank);

    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;

  private:
    struct Round {
        Why why{};
        job::Snapshot states;
        std::vector<bool> open;
        std::size_t missing = 0;
        Clock::time_point ends{};  // whatever is missing then
        int repeats = 0;           // because not all ranks stood still yet
    };

    void begin(Why why, int repeats);
    void settle(int rank, job::RankState state);
    void finish();
    void write_reports(const job::Snapshot& states);

    const Job& job_;
    Outputs& outputs_;
    Ask ask_;
    Known known_;
    std::optional<Round> round_;
    std::optional<Clock::time_point> again_;  // the round is repeated
    Why again_why_{};
    int again_repeats_ = 0;
    std::optional<Clock::time_point> quiet_until_;  // after a summary that nobody asked for
    std::chrono::nanoseconds quiet_{0};
    bool failed_to_write_ = false;
};

}  // namespace torusmp::launch
