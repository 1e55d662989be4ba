// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks run in simulated time: each has a program, which runs whenever its rank's
// processor is free and something has happened to it, over a World with a LinkModel. The same
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
    std::size_t eager_limit = setting::eager_limit.initial();
};

class TimedJob;

// What a program sees of its rank.
class TimedRank {
  public:
    TimedRank(TimedJob& job, Rank rank) : job_(&job), rank_(rank) {}

    Rank rank() const { return rank_; }
    Runtime& runtime() const;
    // From now on the program computes for so long; it is called again when that is over.
    void compute(double nanoseconds) const;
    sim::Time now() const;

  private:
    TimedJob* job_;
    Rank rank_;
};

class Program {
  public:
    virtual ~Program() = default;
    // Goes on until it waits for a message or computes. True: it has ended.
    virtual bool advance(const TimedRank& self) = 0;
};

class TimedJob {
  public:
    // Throws std::invalid_argument for less than two ranks and for a model that is none.
    explicit TimedJob(const TimedOptions& options);

    int size() const { return ranks_.size(); }
    const routing::Torus& torus() const { return torus_; }
    Runtime& operator[](Rank rank) { return ranks_[rank]; }

    // All ranks begin at the same time, when nothing is under way; until the last has ended. Throws
    // std::runtime_error where they wait for each other without end.
    sim::Time run(const std::vector<std::unique_ptr<Program>>& by_rank);
    std::uint64_t packets() const { return ranks_.world().counters().packets; }

  private:
    friend class TimedRank;
    sim::Interface& interface(Rank rank) { return *interfaces_[std::size_t(rank)]; }
    void give_turn(Rank rank, const std::vector<std::unique_ptr<Program>>& programs);
    void settle();

    routing::Torus torus_;
    Ranks ranks_;
    std::vector<sim::Interface*> interfaces_;  // by rank
    std::vector<bool> ended_;
    std::vector<sim::Time> called_for_;  // when each is called anyway
    int running_ = 0;
};

}  // namespace torusmp::core::simulated
