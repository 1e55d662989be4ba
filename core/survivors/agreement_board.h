// SPDX-License-Identifier: BSD-3-Clause
// Shared memory through which the members of a group agree if all of them are on one host. It
// outlives each member, also the one that made it.
//
// Each member writes its contribution to a round into its own part. A member that finds the
// contributions of all members that it does not know to be dead computes a value from what is
// there, writes it into its own part as a draft, and tries to become the author of the decision by
// a compare-and-exchange: one member of each round succeeds, and its draft is the decision of all.
// So members that decide, also those that die afterwards, decide the same value, and an agreement
// costs each member one turn.
//
// Parts are used by every second round. A member contributes to a round when it has read the
// decision of the round before, and a round is decided only when all living members have
// contributed. So no member reads a part of round n any more when its owner writes its part of
// round n + 2.
//
// A value; the memory is the owner's. Used under the Runtime's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/survivors/ballot.h"

namespace torusmp::core {

class AgreementBoard {
  public:
    static std::size_t bytes(int members);
    // Called by the maker before any member uses the memory.
    static void prepare(std::byte* memory, int members);
    // `fences`: see SharedMemory::must_fence().
    AgreementBoard(std::byte* memory, int members, int place, bool fences);

    void contribute(std::uint32_t round, const AgreedValue& own);
    // Whether the round has a decision, possibly by this call: if all members have contributed
    // whose death is not known. `first` becomes true if this call has made the decision, of which
    // the others must be notified.
    bool decide(std::uint32_t round, const MemberSet& dead, bool& first);
    // Precondition: the round has a decision.
    AgreedValue decision(std::uint32_t round) const;

    void set_asleep(bool asleep);
    // Calls wake(place) for each member that sleeps, or is about to.
    template <class Wake>
    void for_sleepers(Wake&& wake) const {
        fence();
        for (int place = 0; place < members_; ++place)
            if (sleeps(place)) wake(place);
    }

  private:
    struct Head;
    struct Entry;  // a contribution or a draft; the words of two sets follow it

    static std::size_t entry_bytes(int members);
    std::atomic<std::uint64_t>& author(std::uint32_t round) const;
    Entry& entry(int place, std::uint32_t round, bool draft) const;
    void write(Entry& entry, const AgreedValue& value) const;
    AgreedValue read(const Entry& entry) const;
    std::uint32_t* words_of(Entry& entry) const;
    bool sleeps(int place) const;
    bool is_decided(std::uint32_t round) const;
    void fence() const {
        if (fences_)
            std::atomic_thread_fence(std::memory_order_seq_cst);
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    std::byte* memory_;
    int members_, place_;
    bool fences_;
    int missing_ = 0;  // the first member that has not contributed to the present round
};

}  // namespace torusmp::core
