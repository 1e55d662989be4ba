// Random collectives on random groups, with their right answers: what the soak runs.
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
#include "collectives/crew.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"
#include "core/job.h"

namespace torusmp::collectives::testing {

using core::testing::Job;
using core::testing::sim::Random;

template <class ScheduleType>
class Bench {
  public:
    using Crew = std::deque<ScheduleType>;  // by node
    Crew* take(std::vector<std::unique_ptr<Group>>& groups) {
        if (free_.empty()) {
            crews_.push_back(std::make_unique<Crew>());
            for (auto& group : groups) crews_.back()->emplace_back(*group);
            free_.push_back(crews_.back().get());
        }
        Crew* crew = free_.back();
        free_.pop_back();
        return crew;
    }
    void give_back(Crew* crew) { free_.push_back(crew); }

  private:
    std::vector<std::unique_ptr<Crew>> crews_;
    std::vector<Crew*> free_;
};

struct Team {
    std::string name;
    std::vector<core::Rank> members;
    std::vector<std::unique_ptr<Group>> groups;  // by node
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
    virtual void start(int node) = 0;
    virtual const Schedule& schedule(int node) const = 0;
    // Empty: the answer is right on all members.
    virtual std::string wrong() const = 0;
    virtual std::string describe() const = 0;
    virtual Team& team() const = 0;
    // Before it starts; otherwise it takes any.
    virtual void choose(Wanted algorithm) = 0;
};

std::unique_ptr<SoakTask> random_task(Team& team, Random& random);
// A call of this operation; null: there is no task of it.
std::unique_ptr<SoakTask> task_of(const AlgorithmTable& table, Wanted algorithm, Team& team,
                                  Random& random);

}  // namespace torusmp::collectives::testing
