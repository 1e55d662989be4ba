// SPDX-License-Identifier: BSD-3-Clause
// A job that this process is in: the one in which it started, or one of the processes that have
// joined others (MPI_Comm_spawn, MPI_Comm_accept, MPI_Comm_join). Each has a Runtime with machine
// ranks of its own, in which a process has another number than elsewhere.
//
// A World lives as long as a communicator of it does. Any thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/api.h"
#include "io/outside_keeper.h"
#include "job/process.h"
#include "mpi11/comm/members.h"
#include "mpi11/comm/tag_ranges.h"

namespace torusmp::mpi {

using core::Context;

class Communicator;  // communicator.h

// A process, for all that know it: the job in which it started, and its rank there.
struct ProcessName {
    std::uint64_t job = 0;  // 0 for a rank that only passes messages on
    std::int64_t rank = -1;

    friend auto operator<=>(const ProcessName&, const ProcessName&) = default;
};

// The processes of a World by machine rank; immutable. It outlives the World where groups refer to
// it.
struct Roster {
    std::vector<ProcessName> names;
    Rank self = 0;

    int size() const { return int(names.size()); }
    // The machine ranks here of processes that have these ranks in another roster. A process that
    // is not here gets a number from size() on, each its own.
    Members translate(const Members& members, const Roster& from) const;
};

class World {
  public:
    // `names` are those of all ranks, or nullopt for a job in which this process started.
    explicit World(std::shared_ptr<job::Process> process,
                   std::optional<std::vector<ProcessName>> names = std::nullopt);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    job::Process& process() const { return *process_; }
    core::Runtime& runtime() const { return process_->runtime(); }
    const std::shared_ptr<const Roster>& roster() const { return roster_; }
    const ProcessName& name() const { return roster_->names[std::size_t(roster_->self)]; }
    // Processes that started apart.
    bool joined() const { return joined_; }

    // Contexts assigned by this process alone, so that members need not agree: the first rank of
    // the new communicator claims them, the others receive them with the data they exchange in any
    // case. Throws Failure if all are used up.
    Context claim_contexts();
    // Returns a claim that was not used.
    void return_contexts(Context first);

    TagRanges partition_tags{*this};

    // Those of this job by their first context, for news of deaths and revocations; used under the
    // Runtime's lock.
    std::map<Context, Communicator*> communicators;

  private:
    const std::shared_ptr<job::Process> process_;
    std::shared_ptr<const Roster> roster_;
    const bool joined_;
    std::unique_ptr<io::OutsideKeeper> keeper_;
    std::mutex mutex_;
    Context taken_ = 0;
    std::vector<Context> returned_;
};

}  // namespace torusmp::mpi
