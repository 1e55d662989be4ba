// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/communicator.h"

#include <algorithm>

#include "mpi11/error/error.h"
#include "mpi11/ft/failures.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {
Communicator::Communicator(std::shared_ptr<World> world, std::vector<Rank> members, Context first)
    : Object(kind_of_class),
      world_(std::move(world)),
      runtime_(&world_->runtime()),
      first_(first),
      group_(*runtime_, members, context(Traffic::collectives),
             world_->process().collective_policy()),
      peers_(std::move(members)) {
    index_peers();
    group_.set_names(names_);
    watch_members(*this);
}

Communicator::Communicator(std::shared_ptr<World> world, std::vector<Rank> local,
                           Context local_first, std::vector<Rank> remote, Context first)
    : Object(kind_of_class),
      world_(std::move(world)),
      runtime_(&world_->runtime()),
      first_(first),
      inter_(true),
      group_(*runtime_, std::move(local), local_first + Context(Traffic::collectives),
             world_->process().collective_policy()),
      peers_(std::move(remote)) {
    index_peers();
    group_.set_names(names_);
    watch_members(*this);
}

Communicator::~Communicator() {
    forget_members(*this);
}

// Machine ranks are looked up in a table, which communicators with the same numbering do not need.
void Communicator::index_peers() {
    const int ranks = runtime_->size();
    remote_size_ = int(peers_.size());
    bool same = remote_size_ == ranks;
    for (int i = 0; same && i < ranks; ++i) same = peers_[std::size_t(i)] == i;
    if (same) return;
    rank_of_.assign(std::size_t(ranks), -1);
    for (std::size_t i = 0; i < peers_.size(); ++i) rank_of_[std::size_t(peers_[i])] = int(i);
}

void Communicator::Names::report(core::Waits& waits) const {
    const std::string name = comm_.describe();
    for (const Traffic traffic :
         {Traffic::messages, Traffic::neighbours, Traffic::leaders, Traffic::partitions}) {
        core::Waits::Group& group = waits.group(comm_.context(traffic));
        group.name = name;
        group.messages = traffic == Traffic::messages;
        if (group.members.empty()) group.members = comm_.peers();
    }
    waits.group(comm_.group().context()).name = name;
}

std::string Communicator::describe() const {
    if (!name.empty()) return name;
    if (inter_)
        return fmt::format("an inter-communicator of {} and {} ranks", size(), remote_size());
    return fmt::format("a communicator of {} ranks", size());
}

}  // namespace torusmp::mpi
