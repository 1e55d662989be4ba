// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks run in simulated time, over a World with a LinkModel. Each rank has a program,
// which runs whenever the rank's processor is free and an event has occurred for it. The same
// programs on the same model take the same time, to the nanosecond.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/simulated/ranks.h"

namespace torusmp::core::simulated {

struct TimedOptions {
    routing::Torus torus;
    sim::LinkModel model{};
    std::size_t eager_limit = transport::default_eager_limit;
};

class TimedJob;

// A program's view of its rank.
class TimedRank {
  public:
    TimedRank(TimedJob& job, Rank rank) : job_(&job), rank_(rank) {}

    Rank rank() const { return rank_; }
    Runtime& runtime() const;
    // The program computes for this long from now; it is called again afterwards.
    void compute(double nanoseconds) const;
    sim::Time now() const;

  private:
    TimedJob* job_;
    Rank rank_;
};

class Program {
  public:
    virtual ~Program() = default;
    // Continues until the program waits for a message or computes. Returns true when it has ended.
    virtual bool advance(const TimedRank& self) = 0;
};

class TimedJob {
  public:
    // Throws std::invalid_argument for fewer than two ranks or an invalid model.
    explicit TimedJob(const TimedOptions& options);

    int size() const { return ranks_.size(); }
    const routing::Torus& torus() const { return torus_; }
    Runtime& operator[](Rank rank) { return ranks_[rank]; }

    // Starts all ranks at the same time, when nothing is in flight, and returns when the last has
    // ended. Throws std::runtime_error if they deadlock.
    sim::Time run(const std::vector<std::unique_ptr<Program>>& by_rank);
    std::uint64_t packets() const { return ranks_.world().counters().packets; }

    // See TimedRank.
    void compute(Rank rank, double nanoseconds) {
        ranks_.world().compute(interface(rank), nanoseconds);
    }
    sim::Time now(Rank rank) { return ranks_.world().program_at(interface(rank)); }

  private:
    sim::Interface& interface(Rank rank) { return *interfaces_[std::size_t(rank)]; }
    void give_turn(Rank rank, const std::vector<std::unique_ptr<Program>>& programs);
    void run_until_idle();

    routing::Torus torus_;
    Ranks ranks_;
    std::vector<sim::Interface*> interfaces_;  // by rank
    std::vector<bool> ended_;
    std::vector<sim::Time> called_for_;  // when each is due to be called
    int running_ = 0;
};

}  // namespace torusmp::core::simulated
