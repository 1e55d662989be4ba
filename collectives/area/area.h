// SPDX-License-Identifier: BSD-3-Clause
// The area of a group whose members share a host: memory in which they leave what the others need,
// instead of sending it.
//
// Each member has a ring of slots which it alone writes and all others read. A collective of the
// group has a number, the same on all members; its slot in a ring is the one of that number,
// stamped with it when the contents are there. So a member reads what another has left for this
// very call, in whatever order calls proceed, and may be as many calls ahead of its readers as the
// ring has slots.
// Each member says up to which call it is done with everything; before a slot is written again, all
// who read what it held must be done with it: where that is one member, as along a chain, the
// others may be far behind.
//
// Nobody spins here: what is not there yet is looked for at the next turn of progress. A member
// that goes to sleep leaves word, and whoever stamps a slot or finishes calls wakes it.
//
// The memory is made when the first call wants it, by the member at place 0, and let go with the
// group. Used under the Runtime's lock, but for its making and its end.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/api.h"

namespace torusmp::collectives {

class Group;

class Area {
  public:
    // What fits beside a stamp.
    static constexpr std::size_t inline_bytes = 112;
    static constexpr int most_members = 256;
    // Longer contents have rooms of their own beside the slots. They are few, so that the memory at
    // work stays in the cache.
    static constexpr std::size_t room_bytes = 4096;
    static constexpr unsigned most_rooms = 16;
    // And still longer ones have halls, unless there is no memory for them. Each is so long that
    // all together do not exceed a limit.
    static constexpr unsigned halls = 2;
    static std::size_t hall_bytes(int members, unsigned slots) {
        const std::size_t all = slots == slots_of_one ? most_in_halls / 8 : most_in_halls;
        const std::size_t even = all / halls / std::size_t(members);
        return std::min(longest_hall, even / room_bytes * room_bytes);
    }

    struct alignas(128) Slot {
        std::atomic<std::uint64_t> stamp;  // the call whose contents these are
        std::uint64_t what;                // what its writer has called; the algorithm's
        std::byte payload[inline_bytes];
    };
    static_assert(sizeof(Slot) == 128);

    // How many slots rings have: so many calls a rank can be ahead of others with which it shares a
    // core, and each switch between them costs as much as many calls. Fewer where there are many
    // rings.
    static unsigned slots_of(int members) { return members <= 16 ? 128 : members <= 64 ? 64 : 16; }
    // For calls that the members start again and again, each after the one before.
    static constexpr unsigned slots_of_one = 4;

    // As a reader: all others.
    static constexpr int all = -1;

    // tag: for the messages by which it is made; nothing else uses it. slots: of each ring, a power
    // of two. before: how many areas of the group had that tag before, the same on all members:
    // what was said of those is not taken for this one.
    Area(Group& group, core::Tag tag, unsigned slots, std::uint64_t before = 0);
    ~Area();
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    const Group& group() const { return group_; }
    // Whether groups like this one can have areas.
    static bool fits(const Group& group);

    // How long contents may be; 0: there is no memory for an area. The same on all members once it
    // is settled, until then what is hoped for.
    std::size_t largest() const { return largest_; }
    // Whether it is known if there is an area. The first to ask begins to make it.
    bool settled() { return state_ == State::ready || state_ == State::absent || settle(); }

    // A call of the group begins here, and ends: in the order of their numbers, 1 and up. Calls
    // that do not use the area need not be told.
    void enter(std::uint64_t call) {
        active_.push_back(call);
        newest_ = call;
        if (active_.size() == 1 && call > say_at_) [[unlikely]]
            say_done(call - 1);
    }
    void leave(std::uint64_t call) {
        if (active_.size() == 1 && !asleep_ && call < say_at_) [[likely]]
            active_.clear();
        else
            leave_one(call);
    }

    // Before leave(), of a call that has failed: how far the others came is not known.
    void leave_early(std::uint64_t call);

    // ---- of calls that have begun, once the area is there ----
    // Where this member's contents for a call go, which one member reads, or all; null: those who
    // read what stands there are not done with it, or a call of ours that is still under way may
    // want that slot first.
    std::byte* claim(std::uint64_t call, std::size_t bytes, int reader) {
        if (bytes > room_bytes) [[unlikely]]
            return claim_hall(call, reader);
        if (call > active_.front() + (bytes > inline_bytes ? room_mask_ : mask_)) return nullptr;
        Use& use = uses_[call & mask_];
        if (!is_past(use) && !look_past(use)) return nullptr;
        if (bytes > inline_bytes) {
            Use& before = room_uses_[call & room_mask_];
            if (!is_past(before) && !look_past(before)) return nullptr;
            before = {call, reader};
        }
        use = {call, reader};
        return contents(member_, call, bytes);
    }
    // They are there; `what` is for the readers to compare. To be followed by ring().
    void stamp(std::uint64_t call, std::uint64_t what) {
        Slot& slot = slot_of(member_, call & mask_);
        slot.what = what;
        slot.stamp.store(call, std::memory_order_release);
        __builtin_prefetch(&slot_of(member_, (call + calls_ahead) & mask_), 1);
    }
    // Wakes this member if it sleeps, or all.
    void ring(int member) {
        fence();
        const std::uint64_t bit = std::uint64_t{1} << (member % 64);
        if ((sleepers(member / 64).load(std::memory_order_relaxed) & bit) != 0) [[unlikely]]
            wake(member);
    }
    void ring() {
        fence();
        for (int word = 0; word < words_; ++word)
            if (sleepers(word).load(std::memory_order_relaxed) != 0) [[unlikely]]
                wake_all(word);
    }
    // What another member has left for a call; null: nothing yet.
    const Slot* look(int member, std::uint64_t call) const {
        const Slot& slot = slot_of(member, call & mask_);
        if (slot.stamp.load(std::memory_order_acquire) != call) return nullptr;
        __builtin_prefetch(&slot_of(member, (call + calls_ahead) & mask_));
        return &slot;
    }
    // It has left something for a later call there: what it left for this one was for others.
    bool is_gone(int member, std::uint64_t call) const {
        return slot_of(member, call & mask_).stamp.load(std::memory_order_relaxed) > call;
    }
    // Every reader asks for them in the course of its call.
    std::byte* contents(int member, std::uint64_t call, std::size_t bytes) {
        if (bytes <= inline_bytes) return slot_of(member, call & mask_).payload;
        if (bytes > room_bytes) [[unlikely]]
            return look_into_hall(member, call);
        return rooms_ + (std::size_t(member) * (room_mask_ + 1) + (call & room_mask_)) * room_bytes;
    }

    // See core::Task::set_asleep().
    void set_asleep(bool asleep);

  private:
    // A line from another core takes as long as several calls: those of calls to come are fetched
    // in time, if they have been written.
    static constexpr unsigned calls_ahead = 4;
    static constexpr std::size_t longest_hall = 1024 * 1024;
    static constexpr std::size_t most_in_halls = 32 * 1024 * 1024;

    enum class State { closed, opening, ready, absent };
    struct Setup;
    struct Opening;
    // Of a member, in a line of its own.
    struct alignas(128) Progress {
        std::atomic<std::uint64_t> done;  // with all calls up to this one
    };
    // What a slot or a room was last used for.
    struct Use {
        std::uint64_t call = 0;
        int reader = all;
    };
    // By member, a bit each.
    using Bits = std::array<std::atomic<std::uint64_t>, most_members / 64>;
    struct alignas(128) Head {
        Bits sleepers;  // asleep, or about to be
        Bits starved;   // waiting for others to be done with a slot
    };

    bool settle();
    void open();
    void await_setup();
    void throw_away(const Setup& setup, core::Rank maker);
    void use(std::byte* memory, std::size_t largest);
    void do_without();
    std::size_t rings_bytes() const;
    std::size_t rooms_bytes() const;
    std::byte* claim_hall(std::uint64_t call, int reader);
    std::byte* hall(int member, std::uint64_t call) const;
    std::byte* look_into_hall(int member, std::uint64_t call);
    void tell_soon(std::uint64_t call);
    void leave_one(std::uint64_t call);
    // Whether its readers are done with it, as far as seen; or by looking.
    bool is_past(const Use& use) const {
        return use.call <= all_done_ || (use.reader == reader_ && use.call <= reader_done_);
    }
    bool look_past(const Use& use);
    bool see(const Use& use);
    void say_done(std::uint64_t call);
    void wake(int member);
    void wake_all(int word);

    void fence() const {
        if (must_fence_)
            std::atomic_thread_fence(std::memory_order_seq_cst);
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::atomic<std::uint64_t>& sleepers(int word) const {
        return head_->sleepers[std::size_t(word)];
    }
    Slot& slot_of(int member, std::size_t lane) const {
        return slots_[std::size_t(member) * (mask_ + 1) + lane];
    }

    Group& group_;
    const core::Tag tag_;
    const std::uint64_t before_;
    const std::size_t mask_;       // slots of a ring less 1
    const std::size_t room_mask_;  // rooms for longer contents less 1
    const int member_;
    const int size_;
    const int words_;
    State state_ = State::closed;
    std::size_t largest_;
    bool must_fence_ = true;
    Slot* slots_ = nullptr;
    Head* head_ = nullptr;
    Progress* progress_ = nullptr;  // by member
    std::byte* rooms_ = nullptr;
    std::byte* halls_ = nullptr;
    std::optional<core::SharedBlock> block_;  // always, while this lives
    std::unique_ptr<Opening> opening_;

    std::vector<Use> uses_;  // by slot of the own ring
    std::vector<Use> room_uses_;
    std::array<Use, halls> hall_uses_{};
    std::uint64_t hall_call_ = 0;  // the last one for which this member has looked into a hall
    // Up to which call others are done, at least, as far as seen: all, and a reader.
    std::uint64_t all_done_ = 0;
    std::uint64_t reader_done_ = 0;
    int reader_ = all;
    std::vector<std::uint64_t> active_;  // calls that have begun, in order
    std::uint64_t newest_ = 0;
    std::uint64_t say_at_ = 0;  // what is done is said when it comes to this
    bool starved_ = false;
    bool asleep_ = false;
};

}  // namespace torusmp::collectives
