// SPDX-License-Identifier: BSD-3-Clause
// Parallel random collectives on random groups of a simulated job: each member starts them in a
// different order, and the results are checked when all have ended.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/soak_tasks.h"

namespace torusmp::collectives::testing {

using Tasks = std::vector<std::unique_ptr<SoakTask>>;

// From 1 to `most` of them.
Tasks random_tasks(std::vector<Team>& teams, Random& random, std::uint64_t most);
std::string describe(const Tasks& tasks);

// All members begin all tasks, each in an order of its own, at random moments; then everything runs
// to its end.
class Round {
  public:
    // `turn`: a turn of the job, and whatever else is to happen then.
    Round(Job& job, Tasks& tasks, Random& random, std::function<bool()> turn = {});

    void start_all() {
        while (!waiting_.empty()) start_one();
    }
    // Up to `turns` moves, of calls or of messages.
    void start_some(std::uint64_t turns) {
        for (; turns > 0; --turns) waiting_.empty() ? void(turn_()) : start_one();
    }
    // Calls of ranks that live. False: some never end.
    bool finish();

    struct Call {
        SoakTask* task;
        int node;
        core::Rank rank() const { return task->team().members[std::size_t(node)]; }
        const collectives::Schedule& schedule() const { return task->schedule(node); }
    };
    const std::vector<Call>& calls() const { return calls_; }

  private:
    bool ended(const Call& call) const {
        return !job_.alive(call.rank()) || call.schedule().complete();
    }
    void start_one();

    Job& job_;
    Random& random_;
    const std::function<bool()> turn_;
    std::vector<std::vector<Call>> queues_;  // by rank
    std::vector<core::Rank> waiting_;
    std::vector<Call> calls_;
};

// A round of up to `most` tasks in which no rank dies: what is wrong with it; empty: nothing.
std::string check_round(Job& job, std::vector<Team>& teams, Random& random, std::uint64_t most,
                        std::function<bool()> turn = {});

}  // namespace torusmp::collectives::testing
