// SPDX-License-Identifier: BSD-3-Clause
// The tasks of the soak: random collectives on random groups, with their right answers.
//
// A Team is a group on each of its members, and schedules that are used again and again. A task is
// one collective call on all members of a team; it borrows the team's schedules. Teams and tasks
// are declared before the Job on which they run, because requests must outlive it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/allgather/allgather.h"
#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"
#include "collectives/simulated_group.h"
#include "core/job.h"

namespace torusmp::collectives::testing {

using core::testing::Job;
using core::testing::sim::Random;

template <class ScheduleType>
class Bench {
  public:
    using Schedules = std::deque<ScheduleType>;  // by member
    Schedules* take(std::vector<std::unique_ptr<Group>>& groups) {
        if (free_.empty()) {
            schedules_.push_back(std::make_unique<Schedules>());
            for (auto& group : groups) schedules_.back()->emplace_back(*group);
            free_.push_back(schedules_.back().get());
        }
        Schedules* schedules = free_.back();
        free_.pop_back();
        return schedules;
    }
    void give_back(Schedules* schedules) { free_.push_back(schedules); }

  private:
    std::vector<std::unique_ptr<Schedules>> schedules_;
    std::vector<Schedules*> free_;
};

struct Team {
    std::string name;
    std::vector<core::Rank> members;
    std::vector<std::unique_ptr<Group>> groups;  // by member
    std::tuple<Bench<Allgather>, Bench<Allreduce>, Bench<Alltoall>, Bench<Broadcast>, Bench<Gather>,
               Bench<Reduce>, Bench<ReduceScatter>, Bench<Scan>, Bench<Scatter>>
        benches;

    int size() const { return int(members.size()); }
    void sign_on(Job& job, core::Context context);
};

// All ranks, all in another order, a line, a plane or slab, and some ranks that fill no box.
std::vector<Team> random_teams(const routing::Torus& torus, Random& random);

class SoakTask {
  public:
    virtual ~SoakTask() = default;
    virtual void start(int member) = 0;
    virtual const Schedule& schedule(int member) const = 0;
    // Empty: the answer is right on all members.
    virtual std::string wrong() const = 0;
    virtual std::string describe() const = 0;
    virtual Team& team() const = 0;
    // Before it starts; otherwise it takes any.
    virtual void choose(Wanted algorithm) = 0;
};

std::unique_ptr<SoakTask> random_task(Team& team, Random& random);
// A call of this operation; null if it does not have a task.
std::unique_ptr<SoakTask> task_of(const AlgorithmTable& table, Wanted algorithm, Team& team,
                                  Random& random);

}  // namespace torusmp::collectives::testing
