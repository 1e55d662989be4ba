// SPDX-License-Identifier: BSD-3-Clause
// The area of a group whose members share a host: shared memory in which members leave data for the
// others instead of sending it.
//
// Each member has a ring of slots, written by this member alone and read by all others. A
// collective of the group has a number, the same on all members. Its slot in a ring is chosen by
// that number, and stamped with it when the contents are ready. So a member finds the contents of
// exactly this call, in whatever order calls proceed, and may be as many calls ahead of its readers
// as the ring has slots. Each member publishes the number up to which it is done with all calls.
// Before a slot is written again, all its readers must be done with its contents; if there is only
// one reader, as along a chain, the other members may be far behind.
//
// Members do not spin here: progress checks again for missing contents. A member that goes to sleep
// sets a flag, and a member that stamps a slot or finishes calls wakes it.
//
// The member at place 0 creates the memory when the first call wants it; the memory is released
// with the group. Used under the Runtime's lock, except for creation and destruction.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/rate.h"
#include "core/api.h"

namespace torusmp::collectives {

class Group;

class Area {
  public:
    // The contents that fit beside a stamp.
    static constexpr std::size_t inline_bytes = 112;
    static constexpr int most_members = 256;
    // Longer contents have rooms of their own beside the slots. Rooms are few, so that the memory
    // in use stays in the cache, and shorter if members are many. Which contents are short does not
    // depend on that: algorithms treat them in another way.
    static constexpr std::size_t short_bytes = 4096;
    // Copies of this length and more are timed.
    static constexpr std::size_t long_bytes = std::size_t{16} << 10;
    static constexpr std::size_t room_bytes(int members) {
        return members <= most_movers ? long_bytes : short_bytes;
    }
    static constexpr unsigned most_rooms = 16;
    // Still longer contents have large buffers, if memory permits. The length of a large buffer is
    // such that all large buffers together do not exceed a limit. If each member has a core, the
    // contents move through their large buffer from call to call: a line that a reader still has
    // in its private cache is slow to write.
    static constexpr unsigned large_buffers = 2;
    static std::size_t large_bytes(int members, unsigned slots) {
        const std::size_t all = slots == slots_of_one ? most_in_large / 8 : most_in_large;
        const std::size_t even = all / large_buffers / std::size_t(members);
        return std::min(longest_large, even / short_bytes * short_bytes);
    }

    struct alignas(128) Slot {
        std::atomic<std::uint64_t> stamp;  // the call that these contents belong to
        std::uint64_t what;                // the kind of call, set by the algorithm of the writer
        std::byte payload[inline_bytes];   // of large contents: the bytes that are there
        std::atomic_ref<std::uint64_t> grown() const {
            return std::atomic_ref(
                *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(payload)));
        }
    };
    static_assert(sizeof(Slot) == 128 && offsetof(Slot, payload) % sizeof(std::uint64_t) == 0);

    // The number of slots of a ring, which is the number of calls that a rank can be ahead of
    // others with which it shares a core (each switch between them costs as much as many calls).
    // Fewer if there are many rings.
    static unsigned slots_of(int members) { return members <= 16 ? 128 : members <= 64 ? 64 : 16; }
    // For calls that the members start repeatedly, each after the one before.
    static constexpr unsigned slots_of_one = 4;

    // Stands for all other members where a reader is expected.
    static constexpr int all = -1;

    // `tag` is reserved for the messages that set up the area. Each ring has `slots` slots, a power
    // of two. `before` is the number of areas of the group that had this tag before, the same on
    // all members; it distinguishes stale messages from current ones.
    Area(Group& group, core::Tag tag, unsigned slots, std::uint64_t before = 0);
    ~Area();
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    const Group& group() const { return group_; }
    // Whether groups like this one can have areas.
    static bool fits(const Group& group);

    // The largest contents in bytes; 0 if the memory for an area is missing. The same on all
    // members once created; until then, the size that will be requested.
    std::size_t largest() const { return largest_; }
    // Whether it is known if there is an area. The first call begins to create it.
    bool is_decided() {
        return state_ == State::ready || state_ == State::absent || check_creation();
    }

    // enter() and leave() mark the begin and the end of a call of the group, in the order of the
    // calls' numbers, from 1 up. Calls that do not use the area need not be reported.
    void enter(std::uint64_t call) {
        TORUSMP_ASSERT(active_.empty() || call > newest_, call, newest_, active_.size(), member_);
        active_.push_back(call);
        newest_ = call;
        if (active_.size() == 1 && call > say_at_) [[unlikely]]
            say_done(call - 1);
    }
    void leave(std::uint64_t call) {
        TORUSMP_ASSERT(!active_.empty() && call >= active_.front(), call, newest_, active_.size(),
                       member_);
        if (active_.size() == 1 && !asleep_ && call < say_at_) [[likely]]
            active_.clear();
        else
            leave_one(call);
    }

    // Called before leave() for a call that has failed: the progress of the others is unknown.
    void leave_early(std::uint64_t call);
    // A call has failed on this member: others may never receive the messages that set up the area.
    void expect_no_others() { others_receive_ = false; }

    // ---- for calls that have begun, once the area is ready ----
    // Memory for this member's contents of a call, read by one member or by all; null if the
    // readers of the old contents are not done, or another call of this member in progress may need
    // that slot first.
    std::byte* claim(std::uint64_t call, std::size_t bytes, int reader) {
        TORUSMP_ASSERT(bytes <= largest_ && !active_.empty() && call >= active_.front(), call,
                       bytes, largest_, active_.size(), member_);
        if (bytes > room_bytes_) [[unlikely]]
            return claim_large(call, bytes, reader);
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
    // Marks the contents as ready; `what` is compared by the readers. To be followed by ring().
    void stamp(std::uint64_t call, std::uint64_t what) {
        Slot& slot = slot_of(member_, call & mask_);
        slot.what = what;
        slot.stamp.store(call, std::memory_order_release);
        __builtin_prefetch(&slot_of(member_, (call + calls_ahead) & mask_), 1);
    }
    // Large contents may be stamped before they are there, so that readers need not wait for all of
    // them. Set after claim(), and before the first stamp to 0; to be followed by ring().
    void set_grown(std::uint64_t call, std::size_t bytes) {
        slot_of(member_, call & mask_).grown().store(bytes, std::memory_order_release);
    }
    // How many of these bytes are there.
    std::size_t grown(const Slot& slot, std::size_t bytes) const {
        if (bytes <= room_bytes_) return bytes;
        return std::min<std::size_t>(slot.grown().load(std::memory_order_acquire), bytes);
    }
    // ---- lent contents ----
    // A member may lend its memory instead of leaving contents. What it leaves is the name.
    using Lent = core::SharedMemory::Name;
    // A borrower publishes how far it has come with a call; once it has Step::read, it no longer
    // reads what others have lent. To be followed by ring().
    enum class Step : std::uint64_t { added = 1, read = 2 };
    void set_step(std::uint64_t call, Step step) {
        step_of(member_, call).store(call * steps + std::uint64_t(step), std::memory_order_release);
    }
    // Whether that member has come so far, or is past that call.
    bool has_step(int member, std::uint64_t call, Step step) const {
        return step_of(member, call).load(std::memory_order_acquire) >=
               call * steps + std::uint64_t(step);
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
    // The contents that another member has left for a call; null if there is nothing yet.
    const Slot* look(int member, std::uint64_t call) const {
        const Slot& slot = slot_of(member, call & mask_);
        if (slot.stamp.load(std::memory_order_acquire) != call) return nullptr;
        __builtin_prefetch(&slot_of(member, (call + calls_ahead) & mask_));
        return &slot;
    }
    // Whether that member has reused the slot for a later call: its contents for this call were not
    // meant for this reader.
    bool is_gone(int member, std::uint64_t call) const {
        return slot_of(member, call & mask_).stamp.load(std::memory_order_relaxed) > call;
    }
    // Every reader must call this during its call, or pass_over() if it does not read the contents.
    std::byte* contents(int member, std::uint64_t call, std::size_t bytes) {
        if (bytes <= inline_bytes) return slot_of(member, call & mask_).payload;
        if (bytes > room_bytes_) [[unlikely]]
            return read_large(member, call, bytes);
        return rooms_ +
               (std::size_t(member) * (room_mask_ + 1) + (call & room_mask_)) * room_bytes_;
    }

    // Writers of large contents learn soon that this member is done with them.
    void pass_over(std::uint64_t call, std::size_t bytes) {
        if (bytes > room_bytes_) tell_soon(call);
    }

    // Whether contents of `written` bytes, of which a reader reads `blocks` blocks of `block`
    // bytes, would be read sooner if each block were a message, which the kernel copies only once.
    // By the rates of copies so far: of this member, and of the readers (one or all). `grow`: they
    // copy at the same time.
    bool messages_pay(int reader, std::size_t written, int blocks, std::size_t block, bool grow);
    // Copies contents of a call. Long ones are timed.
    void copy_in(std::byte* room, const void* from, std::size_t bytes) {
        copy(room, from, bytes, write_rate_);
    }
    void copy_out(void* to, const std::byte* contents, std::size_t bytes) {
        copy(to, contents, bytes, read_rate_);
    }

    // See core::Task::set_asleep().
    void set_asleep(bool asleep);

  private:
    // Fetching a line from another core takes as long as several calls, so the lines of future
    // calls are prefetched if they have been written.
    static constexpr unsigned calls_ahead = 4;
    static constexpr std::size_t longest_large = 1024 * 1024;
    static constexpr std::size_t most_in_large = 32 * 1024 * 1024;
    // Contents move through this much memory of all members together, and not where members are so
    // many that each has little of it.
    static constexpr std::size_t most_moving = 8 * 1024 * 1024;
    static constexpr int most_movers = 16;

    enum class State { closed, opening, ready, absent };
    struct Setup;
    struct Opening;
    // The progress of a member, in a cache line of its own.
    struct alignas(128) Progress {
        std::atomic<std::uint64_t> done;                   // with all calls up to this one
        std::atomic<std::uint32_t> write_rate, read_rate;  // of long contents, MB/s; 0: not known
    };
    // The last use of a slot or a room.
    struct Use {
        std::uint64_t call = 0;
        int reader = all;
    };
    // One bit per member.
    using Bits = std::array<std::atomic<std::uint64_t>, most_members / 64>;
    struct alignas(128) Head {
        Bits sleepers;  // asleep, or about to be
        Bits starved;   // waiting for others to be done with a slot
    };

    bool check_creation();
    void open();
    void await_setup();
    void throw_away(const Setup& setup, core::Rank maker);
    void use(std::byte* memory, std::size_t largest, bool moves);
    void do_without();
    std::size_t rings_bytes() const;
    std::size_t steps_bytes() const;
    std::size_t rooms_bytes() const;
    std::byte* claim_large(std::uint64_t call, std::size_t bytes, int reader);
    std::size_t begin_in_large(std::uint64_t call, std::size_t bytes) const;
    std::byte* large_place(int member, std::uint64_t call, std::size_t bytes) const;
    std::byte* read_large(int member, std::uint64_t call, std::size_t bytes);
    void populate();
    std::uint32_t slowest_reader(int reader) const;
    static void copy(void* to, const void* from, std::size_t bytes, std::optional<Rate>& rate) {
        Rate* const due = bytes >= long_bytes && rate ? rate->due(bytes) : nullptr;
        if (due == nullptr) [[likely]] {
            if (bytes != 0) std::memcpy(to, from, bytes);
            return;
        }
        const Rate::Sample sample(due, bytes);
        std::memcpy(to, from, bytes);
        // A copy ends when its lines have come from the other core, for which the stamp waits, too.
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void tell_soon(std::uint64_t call);
    void leave_one(std::uint64_t call);
    // Whether its readers are done with it: as last seen, or after a fresh look.
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
    static constexpr std::uint64_t steps = 4;
    std::atomic<std::uint64_t>& step_of(int member, std::uint64_t call) const {
        return steps_[std::size_t(member) * (mask_ + 1) + (call & mask_)];
    }

    Group& group_;
    const core::Tag tag_;
    const std::uint64_t before_;
    const std::size_t mask_;       // slots of a ring less 1
    const std::size_t room_mask_;  // rooms for longer contents less 1
    const std::size_t room_bytes_;
    const int member_;
    const int size_;
    const int words_;
    State state_ = State::closed;
    bool others_receive_ = true;  // all members will call what this one has called
    std::size_t largest_;
    std::size_t span_ = 0;  // of a large buffer, through which contents move; 0: they do not
    bool populated_ = false;
    bool must_fence_ = true;
    Slot* slots_ = nullptr;
    std::atomic<std::uint64_t>* steps_ = nullptr;  // by member and slot
    Head* head_ = nullptr;
    Progress* progress_ = nullptr;  // by member
    std::byte* rooms_ = nullptr;
    std::byte* large_buffers_ = nullptr;
    std::optional<core::SharedBlock> block_;  // always, while this lives
    std::unique_ptr<Opening> opening_;

    std::vector<Use> uses_;  // by slot of the own ring
    std::vector<Use> room_uses_;
    // Parts of a large buffer, whose uses are known separately.
    static constexpr std::size_t large_parts = 32;
    std::array<std::array<Use, large_parts>, large_buffers> large_uses_{};
    // The rates of copies of long contents.
    std::optional<Rate> write_rate_, read_rate_;
    OtherWay messages_;
    std::uint64_t large_call_ = 0;  // the last call for which this member has read a large buffer
    // Lower bound of the calls that the others have completed, as last seen: all of them, and one
    // reader.
    std::uint64_t all_done_ = 0;
    std::uint64_t reader_done_ = 0;
    int reader_ = all;
    std::vector<std::uint64_t> active_;  // calls that have begun, in order
    std::uint64_t newest_ = 0;
    std::uint64_t say_at_ = 0;  // completion is published when it reaches this call
    bool starved_ = false;
    bool asleep_ = false;
};

}  // namespace torusmp::collectives
