// SPDX-License-Identifier: BSD-3-Clause
// The building blocks of the soak's tasks.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "collectives/simulated_group.h"
#include "collectives/soak_tasks.h"

namespace torusmp::collectives::testing {

using core::testing::fill;
using core::testing::filled;
using Bytes = std::vector<std::byte>;
using Sizes = std::vector<std::size_t>;

// Half of the time as the settings say.
inline Wanted any_algorithm(Random& random, const AlgorithmTable& table) {
    if (random.below(2) == 0) return nullptr;
    return &table.rows()[std::size_t(random.below(table.rows().size()))];
}

// Mostly small, now and then well above the eager limit of the job; at most `most`.
inline std::size_t any_size(Random& random, std::size_t most) {
    std::size_t size = 0;
    switch (random.below(8)) {
        case 0:
            size = 0;
            break;
        case 1:
            size = std::size_t(random.below(40000));
            break;
        case 2:
        case 3:
            size = std::size_t(random.below(4000));
            break;
        default:
            size = 1 + std::size_t(random.below(100));
    }
    return std::min(size, most);
}

// Bytes of one member's block, so that all blocks of a member are no more than 64 KiB or so.
inline std::size_t any_block(Random& random, int members) {
    return any_size(random, 64 * 1024 / std::size_t(members));
}

// The base of all tasks: the schedules they borrow, and a seed for their contents.
template <class ScheduleType>
class Task : public SoakTask {
  public:
    Task(Team& team, Random& random)
        : team_(&team),
          bench_(&std::get<Bench<ScheduleType>>(team.benches)),
          schedules_(bench_->take(team.groups)),
          algorithm_(any_algorithm(random, schedules_->front().algorithms())),
          seed_(random.next()) {}
    ~Task() override { bench_->give_back(schedules_); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    const Schedule& schedule(int node) const override { return (*schedules_)[std::size_t(node)]; }
    Team& team() const override { return *team_; }
    void choose(Wanted algorithm) override { algorithm_ = algorithm; }

  protected:
    ScheduleType& mine(int node) { return (*schedules_)[std::size_t(node)]; }
    int size() const { return team_->size(); }
    // The seed of the block that one node has for another.
    std::uint64_t seed(int from, int to = 0) const {
        return seed_ + std::uint64_t(from) * 4096 + std::uint64_t(to);
    }
    std::uint64_t seed_of_values() const { return seed_; }
    Wanted algorithm() const { return algorithm_; }
    std::string_view by() const { return name_of(algorithm_); }

    template <class Right>
    std::string first_wrong(Right&& right) const {
        for (int node = 0; node < size(); ++node)
            if (!right(node)) return fmt::format("node {} has a wrong answer", node);
        return {};
    }

  private:
    Team* team_;
    Bench<ScheduleType>* bench_;
    typename Bench<ScheduleType>::Schedules* schedules_;
    Wanted algorithm_;
    std::uint64_t seed_;
};

template <class TaskType>
std::unique_ptr<SoakTask> make(Team& team, Random& random) {
    return std::make_unique<TaskType>(team, random);
}

// By their operations; those of blocks, and those that reduce.
struct TaskMaker {
    const AlgorithmTable* table;
    std::unique_ptr<SoakTask> (*make)(Team&, Random&);
};
std::vector<TaskMaker> tasks_of_moves();
std::vector<TaskMaker> tasks_of_reductions();

}  // namespace torusmp::collectives::testing
