// SPDX-License-Identifier: BSD-3-Clause
// A window as core sees it: the members, the memory of each, and the state of this rank's epochs
// with them.
//
// The caller fills in the members and parts, which it has exchanged, before the first access.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "core/rma/control.h"
#include "core/rma/operation.h"
#include "core/rma/reach.h"
#include "core/rma/signals.h"

namespace torusmp::core::rma {

class Window {
  public:
    // The meaning of AskBody::arithmetic. Returns false for a number that has none.
    using Find = bool (*)(std::uint16_t number, Arithmetic& found);

    struct Part {
        std::uint32_t id = 0;  // the member's id of the window
        std::uint64_t bytes = 0;
        std::byte* memory = nullptr;  // where this rank maps it; null if it does not
        Control* control = nullptr;   // the same
        Signals* signals = nullptr;   // the same; null for this rank if it is alone
        std::uint32_t place = 0;      // of the member, if its signals are mapped
        Reach reach;                  // memory that is not mapped, but reached without the member
    };

    std::vector<Rank> members;
    int self = 0;
    std::vector<Part> parts;  // by member
    // The members that map this rank's Control, in the order of their places in each; empty if
    // only this one does.
    std::vector<Rank> mates;
    std::uint32_t place = 0;                           // this rank's
    bool dynamic = false;                              // offsets are addresses
    bool revoked = false;                              // see Windows::revoke()
    std::map<const std::byte*, std::size_t> attached;  // of a dynamic window
    Find find = nullptr;
    Context context = 0;  // of the messages that carry large accesses

    // This rank's own memory at an offset; null if the window does not have all these bytes.
    std::byte* own(std::uint64_t at, std::uint64_t bytes) const {
        const Part& part = parts[std::size_t(self)];
        if (!dynamic)
            return at > part.bytes || bytes > part.bytes - at ? nullptr : part.memory + at;
        // It may lie in several pieces of attached memory that follow each other.
        auto* const address = reinterpret_cast<std::byte*>(at);
        if (bytes > ~at) return nullptr;
        const std::byte* reached = address;
        for (auto next = attached.upper_bound(address); next != attached.begin();) {
            const auto& [start, length] = *std::prev(next);
            if (reached < start || reached >= start + length) return nullptr;
            reached = start + length;
            if (std::uint64_t(reached - address) >= bytes) return address;
            if (next == attached.end()) return nullptr;
            ++next;
        }
        return nullptr;
    }

    // An access of this rank to memory that it reaches without packets. Of accesses that several
    // threads make at the same moment, some may not be counted.
    void count_direct() {
        direct.store(direct.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    std::atomic<std::uint64_t> direct{0};

    // How many signals of a member have come that were not taken.
    std::uint32_t signals_of(int member, Signals::Kind kind) const {
        const Dealings& it = dealings[std::size_t(member)];
        const std::uint32_t packets = it.packets[std::size_t(kind)];
        const Signals* const own = parts[std::size_t(self)].signals;
        const Part& part = parts[std::size_t(member)];
        if (own == nullptr || part.signals == nullptr) return packets;
        return packets + (own->raised(kind, part.place) - it.taken[std::size_t(kind)]);
    }
    void take_signal(int member, Signals::Kind kind) {
        Dealings& it = dealings[std::size_t(member)];
        if (it.packets[std::size_t(kind)] != 0)
            --it.packets[std::size_t(kind)];
        else
            ++it.taken[std::size_t(kind)];
    }

    // ---- the rest is kept by the module Windows, under the Runtime's lock; other threads may read
    // what is atomic ----
    // By member: operations of this rank that are not complete, and steps of epochs that have
    // arrived.
    static constexpr unsigned most_turns_given = 64;
    struct Dealings {
        std::atomic<std::uint32_t> open{0};
        bool dirty = false;    // an access without an answer was sent since the last flush
        bool told = false;     // the same, a signal
        bool refused = false;  // the member's access, which the next answer reports
        Error error = Error::none;
        // Signals of the member that came in packets, by kind, and those in mapped memory that were
        // taken.
        std::array<std::atomic<std::uint32_t>, 2> packets{};
        std::array<std::atomic<std::uint32_t>, 2> taken{};
        // Others waited for the member's lock, if it is mapped, when this rank released it after so
        // many grants; and how many turns it gives them before it takes the lock again.
        std::atomic<bool> left{false};
        std::atomic<std::uint32_t> left_at{0};
        std::atomic<unsigned> turns_given{most_turns_given};
        // Locks that this rank has taken for the member.
        std::uint32_t shared_locks = 0;
        bool exclusive_lock = false;
        std::uint32_t arriving = 0;  // puts of the member that are messages
    };
    std::vector<Dealings> dealings;
    std::atomic<std::uint32_t> open{0};   // operations to all members
    std::atomic<std::uint32_t> dirty{0};  // members
    // Messages of other members' large accesses that still need this rank's memory.
    std::atomic<std::uint32_t> served{0};
    std::uint32_t id = 0;
};

}  // namespace torusmp::core::rma
