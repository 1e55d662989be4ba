// SPDX-License-Identifier: BSD-3-Clause
// Data that members exchange while they create a communicator: small tables, lists, and the
// contexts that one of them claims for all.
//
// Everything here blocks and is collective over a local group, except swap_lists(), which involves
// two ranks, and hand_down(). Throws Failure if a member has died.
#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/comm/members.h"

namespace torusmp::mpi {

// Claimed contexts, which are returned unless they are used. One claim may serve several
// communicators that have no member in common: a message of one cannot match a receive of the
// other.
class Claim {
  public:
    explicit Claim(World& world) : world_(world), first_(world.claim_contexts()) {}
    explicit Claim(const Communicator& of) : Claim(*of.world()) {}
    ~Claim() {
        if (!used_) world_.return_contexts(first_);
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    Context first() const { return first_; }
    Context use() {
        used_ = true;
        return first_;
    }

  private:
    World& world_;
    Context first_;
    bool used_ = false;
};

// Over the local group. The `bytes` bytes of every member, one behind the other; our own in place.
void gather_all(Communicator& comm, void* table, std::size_t bytes, const char* call);
void broadcast_bytes(Communicator& comm, void* data, std::size_t bytes, int root, const char* call);
// A list whose length only the root knows.
void broadcast_list(Communicator& comm, std::vector<int>& list, int root, const char* call);
// The lists of all members, of any lengths, one behind the other by rank. `counts` receives their
// lengths.
std::vector<int> gather_lists(Communicator& comm, const std::vector<int>& own,
                              std::vector<int>& counts, const char* call);

// Sends data from one member of a group that has no communicator yet to all others, down a binomial
// tree. The tag distinguishes calls of the context that run at the same time. `root` is the
// sender's place in the group.
void hand_down(core::Runtime& runtime, const Members& group, int root, Context context,
               core::Tag tag, void* data, std::size_t bytes, const char* call);

// Sends a list to a machine rank and receives one from it.
std::vector<int> swap_lists(core::Runtime& runtime, Context context, Rank peer, int tag,
                            const std::vector<int>& ours, const char* call);

// The lists of rank 0 of each group of an inter-communicator, distributed to all members.
struct BothLists {
    std::vector<int> ours, theirs;
};
BothLists exchange_lists(Communicator& inter, std::vector<int> ours, const char* call);
// Whose word counts where both sides claim something; both sides find the same.
inline bool ours_counts(const Communicator& inter) {
    return inter.members()[0] < inter.peers()[0];
}

// Blocks until a core request or a schedule is complete; throws Failure for what went wrong.
void wait_for(core::Runtime& runtime, core::Request& request, const char* call);
void wait_for(collectives::Schedule& schedule);

}  // namespace torusmp::mpi
