// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/communicator.h"

#include <algorithm>

#include "mpi11/error/error.h"
#include "mpi11/ft/failures.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {
namespace {

// Contexts that this process may claim: numbers between the contexts of the predefined
// communicators and of groups, and the half that QMP uses, divided among the ranks of the job.
class Claims {
  public:
    Context take() {
        const SharedLock lock(mutex_);
        if (!returned_.empty()) {
            const Context first = returned_.back();
            returned_.pop_back();
            return first;
        }
        const auto ranks = Context(runtime().size());
        const Context share = (qmp_begins / contexts_each - predefined_ones) / ranks;
        if (taken_ == share)
            fail(MPI_ERR_OTHER,
                 "this rank has made {} communicators, the limit in a job of {} ranks", share,
                 ranks);
        return contexts_each * (predefined_ones + Context(runtime().rank()) * share + taken_++);
    }
    void give(Context first) {
        const SharedLock lock(mutex_);
        returned_.push_back(first);
    }

  private:
    static constexpr Context qmp_begins = 0x40000000;
    static constexpr Context predefined_ones = 3;
    std::mutex mutex_;
    Context taken_ = 0;
    std::vector<Context> returned_;
};

Claims& claims() {
    static Claims* const only = std::make_unique<Claims>().release();
    return *only;
}

}  // namespace

Context claim_contexts() {
    return claims().take();
}

void return_contexts(Context first) {
    claims().give(first);
}

Communicator::Communicator(std::vector<Rank> members, Context first)
    : Object(kind_of_class),
      first_(first),
      group_(runtime(), members, context(Traffic::collectives),
             library().process->collective_policy()),
      peers_(std::move(members)) {
    index_peers();
    group_.set_names(names_);
    watch_members(*this);
}

Communicator::Communicator(std::vector<Rank> local, Context local_first, std::vector<Rank> remote,
                           Context first)
    : Object(kind_of_class),
      first_(first),
      inter_(true),
      group_(runtime(), std::move(local), local_first + Context(Traffic::collectives),
             library().process->collective_policy()),
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
    const int ranks = runtime().size();
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
