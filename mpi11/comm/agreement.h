// SPDX-License-Identifier: BSD-3-Clause
// What members tell each other while they make a communicator: small tables, lists, and the
// contexts that one of them claims for all.
//
// Everything here blocks and is collective over a local group, except swap_lists(), which concerns
// two ranks. Throws Failure if a member has died.
#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"
#include "mpi11/comm/communicator.h"

namespace torusmp::mpi {

// Contexts claimed, and given back unless they were used. One claim may serve several communicators
// that have no member in common: no message of one can meet a receive of the other.
class Claim {
  public:
    Claim() : first_(claim_contexts()) {}
    ~Claim() {
        if (!used_) return_contexts(first_);
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    Context first() const { return first_; }
    Context use() {
        used_ = true;
        return first_;
    }

  private:
    Context first_;
    bool used_ = false;
};

// Over the local group. The `bytes` bytes of every member, one behind the other; our own in place.
void gather_all(Communicator& comm, void* table, std::size_t bytes);
void broadcast_bytes(Communicator& comm, void* data, std::size_t bytes, int root);
// A list whose length only the root knows.
void broadcast_list(Communicator& comm, std::vector<int>& list, int root);
// Lists of any lengths one behind the other, by rank; counts: their lengths.
std::vector<int> gather_lists(Communicator& comm, const std::vector<int>& own,
                              std::vector<int>& counts);

// Sends a list to a machine rank and receives one from it.
std::vector<int> swap_lists(Context context, Rank peer, int tag, const std::vector<int>& ours);

// Over an inter-communicator: what rank 0 of each group gives, known to all afterwards.
struct BothLists {
    std::vector<int> ours, theirs;
};
BothLists exchange_lists(Communicator& inter, std::vector<int> ours);
// Whose word counts where both sides claim something; both sides find the same.
inline bool ours_counts(const Communicator& inter) {
    return inter.members()[0] < inter.peers()[0];
}

// Blocks until a core request or a schedule is complete; throws Failure for what went wrong.
void wait_for(core::Request& request, const char* what);
void wait_for(collectives::Schedule& schedule);

}  // namespace torusmp::mpi
