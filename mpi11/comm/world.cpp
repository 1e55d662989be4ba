// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/world.h"

#include <cstring>
#include <map>
#include <utility>

#include "mpi11/error/error.h"
#include "mpi11/file/elsewhere.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {

Members Roster::translate(const Members& members, const Roster& from) const {
    std::map<ProcessName, Rank> here;
    for (Rank rank = 0; rank < size(); ++rank) here[names[std::size_t(rank)]] = rank;
    std::vector<Rank> ranks;
    for (const Rank rank : members.ranks()) {
        const auto found = here.find(from.names[std::size_t(rank)]);
        ranks.push_back(found == here.end() ? size() + rank : found->second);
    }
    return Members(std::move(ranks));
}

World::World(std::shared_ptr<job::Process> process, std::optional<std::vector<ProcessName>> names)
    : process_(std::move(process)), joined_(names.has_value()) {
    auto roster = std::make_shared<Roster>();
    roster->self = runtime().rank();
    if (names) {
        roster->names = std::move(*names);
    } else {
        for (Rank rank = 0; rank < runtime().size(); ++rank)
            roster->names.push_back({process_->number(), rank});
    }
    roster_ = std::move(roster);
    begin_failures(*this);
    keeper_ = make_outside_keeper(*this);
}

World::~World() {
    keeper_.reset();
    end_failures(*this);
}

// Numbers between the contexts of the predefined communicators and of groups, and the half that QMP
// uses, divided among the ranks of the job.
Context World::claim_contexts() {
    constexpr Context qmp_begins = 0x40000000, predefined_ones = 4;
    const SharedLock lock(mutex_);
    if (!returned_.empty()) {
        const Context first = returned_.back();
        returned_.pop_back();
        return first;
    }
    const auto ranks = Context(runtime().size());
    const Context share = (qmp_begins / contexts_each - predefined_ones) / ranks;
    if (taken_ == share)
        fail(MPI_ERR_OTHER, "this rank has made {} communicators, the limit in a job of {} ranks",
             share, ranks);
    return contexts_each * (predefined_ones + Context(runtime().rank()) * share + taken_++);
}

void World::return_contexts(Context first) {
    const SharedLock lock(mutex_);
    returned_.push_back(first);
}

}  // namespace torusmp::mpi
