// SPDX-License-Identifier: BSD-3-Clause
// The base of algorithms that go through the area of a group: a member leaves data for the others
// in its slot and reads their slots. See area/area.h.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <vector>

#include "collectives/algorithm/algorithm.h"
#include "collectives/area/area.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {

class ThroughArea : public Algorithm {
  protected:
    explicit ThroughArea(Messages& messages) : Algorithm(messages), messages_(&messages) {}

    // Of a message of this length both ends copy a half.
    static constexpr std::size_t halves_from = std::size_t{512} << 10;
    // Contents grow by this many bytes.
    static constexpr std::size_t growth = std::size_t{32} << 10;

    // The kind of call. Readers compare it with the kind in a writer's stamp.
    enum class Kind : std::uint32_t {
        broadcast = 1,
        reduce,
        allreduce,
        scan,
        scatter,
        gather,
        allgather,
        alltoall,
        alltoallv,
        reduce_scatter
    };
    // Call this in start(). `root` is -1 if the call has none.
    void begin_call(Kind kind, int root = -1) {
        kind_ = std::uint64_t(kind) << 56 | std::uint64_t(std::uint16_t(root)) << 40;
        rooted_ = root >= 0;
        next_ = 0;
        part_taken_ = 0;
        left_ = false;
        posts_ = false;
        lent_to_.reset();
        borrowed_ = false;
        lenders_.clear();
        sending_.clear();
        receiving_.clear();
    }
    int size() const { return group().size(); }
    int member() const { return group().member(); }

    // The largest contents that fit, and the largest that are worth leaving where they could be
    // sent instead. With a core for each member, longer contents gain because they are copied only
    // once.
    std::size_t largest() const { return area().largest(); }
    std::size_t most_left() const {
        constexpr std::size_t most_on_host = 256 * 1024;
        return group().situation() == Situation::crowded ? largest()
                                                         : std::min(most_on_host, largest());
    }
    // Room in this member's slot for contents read by one member, or by all; null if not available
    // yet.
    std::byte* claim_for(int to, std::size_t bytes) {
        return area().claim(messages_->call(), bytes, to);
    }
    std::byte* claim_for_all(std::size_t bytes) { return claim_for(Area::all, bytes); }
    // Publishes the contents written to that room.
    void leave_for(int to, std::size_t bytes) {
        stamp(bytes);
        ring(to);
    }
    void leave_for_all(std::size_t bytes) { leave_for(Area::all, bytes); }
    // Claims room, copies the contents and publishes them. Returns false while there is not enough
    // room.
    bool leave_copy_for(int to, const void* from, std::size_t bytes) {
        return left_ || (copy_in(to, from, bytes) && (leave_for(to, bytes), true));
    }
    bool leave_copy_for_all(const void* from, std::size_t bytes) {
        return leave_copy_for(Area::all, from, bytes);
    }
    bool has_left() const { return left_; }
    bool has_lent() const { return lent_to_.has_value(); }

    // Whether contents of `written` bytes, of which each reader reads `blocks` blocks of `block`
    // bytes, should rather be sent block by block. Asked before this member has left anything.
    // `grow`: readers would find them while they grow.
    bool messages_pay(int to, std::size_t written, int blocks, std::size_t block,
                      bool grow = false) {
        return area().messages_pay(to, written, blocks, block, grow);
    }
    // A bit of a stamp: the contents come as messages.
    static constexpr std::uint64_t sends = std::uint64_t{1} << 33;
    // A bit of a stamp: what is left are names of memory that the others read.
    static constexpr std::uint64_t lent = std::uint64_t{1} << 34;
    // Whether memory of that length should be lent to one member or to all, if each reads `read`
    // bytes of it: there is one copy instead of two, but its owner waits for the readers. Where
    // ranks share cores, only the root may wait.
    bool lends(int to, std::size_t bytes, std::size_t read) const {
        if (group().situation() == Situation::crowded)
            return to == Area::all && rooted_ && bytes >= lend_crowded_from && read >= lend_from;
        return bytes >= lend_from && read >= lend_from / 2 && !halves_pay(read);
    }
    // Whether a message is better than anything in the area, because both its ends copy a half.
    bool halves_pay(std::size_t bytes) const {
        return rooted_ && size() == 2 && bytes >= halves_from &&
               group().situation() == Situation::host;
    }
    bool is_within_reach(const std::byte* memory, std::size_t bytes) const {
        return name_of({memory, bytes}).length != 0;
    }
    // Lends memory to one member or to all; `word`: of the stamp. Returns false if nothing was
    // left, because they cannot reach it or there is no room yet. To be followed by
    // transfers_ended().
    bool lend(int to, std::uint64_t word, std::initializer_list<core::Buffer> memories);
    // One of the `count` memories that a member has lent in this call; null if it is not that long
    // or out of reach, and the call breaks off. To be followed by transfers_ended(), which fails if
    // the member has died and its memory is gone.
    const std::byte* borrow(int from, std::size_t bytes, std::size_t index = 0,
                            std::size_t count = 1);
    // Lends memory to all, if it is worth it and `may` be lent, or leaves a copy for them. Returns
    // false while there is not enough room. To be followed by transfers_ended().
    bool lend_or_leave(const std::byte* from, std::size_t bytes, bool may) {
        return left_ || (may && lend(Area::all, bytes, {{from, bytes}})) ||
               leave_copy_for_all(from, bytes);
    }
    // Finds what all other members have lent or left, by member. Returns false while something is
    // missing. To be followed by transfers_ended().
    bool find_all(std::size_t bytes, std::vector<const std::byte*>& at);
    // How far this member has come with what it has borrowed, for all others; and whether another
    // member has come so far.
    void set_step(Area::Step step);
    bool has_step(int other, Area::Step step);
    // Copies contents, long ones timed.
    void copy_into(std::byte* room, const void* from, std::size_t bytes) {
        area().copy_in(room, from, bytes);
    }
    void copy_from(void* to, const std::byte* contents, std::size_t bytes) {
        area().copy_out(to, contents, bytes);
    }
    // As leave_copy_for(), but readers find long contents while they grow: they read them with
    // take_grown(), or up to grown(). Where ranks share cores, a reader does not run while the
    // writer does, and finds the whole.
    bool leave_growing_for(int to, const std::byte* from, std::size_t bytes) {
        if (bytes > growth && group().situation() != Situation::crowded)
            return left_ || grow_for(to, from, bytes);
        return leave_copy_for(to, from, bytes);
    }
    // How many bytes of the contents of that length, which a member has left, are there.
    std::size_t grown(int from, std::size_t bytes) {
        const Area::Slot* const slot = look(from);
        return slot == nullptr ? 0 : area().grown(*slot, bytes);
    }
    // Takes a part of contents that a member has left, as far as they have grown. Returns true when
    // it has taken all; until then it takes no other part.
    bool take_grown(int from, std::size_t bytes, std::size_t offset, core::Buffer into) {
        if (bytes > Area::short_bytes) return take_as_grown(from, bytes, offset, into);
        copy_from(into.base, contents_of(from, bytes) + offset, into.bytes);
        return true;
    }
    // Leaves a copy for one member or for all, of which each reader reads `blocks`, or sends it and
    // notes this in the area, whichever is sooner read. Returns false while there is not enough
    // room. To be followed by transfers_ended().
    bool give(int to, const std::byte* from, std::size_t bytes, int blocks);
    // Takes what member `from` has left, or sends: `into.bytes` bytes at `offset` of its contents
    // of `bytes` bytes. Returns false while there is nothing. To be followed by transfers_ended().
    bool take(int from, std::size_t bytes, std::size_t offset, core::Buffer into) {
        return take(left_where(from, bytes), from, bytes, offset, into);
    }
    // The same, where left_where() has found something that is not lent, or nothing.
    enum class Left { nothing, contents, message, lent };
    bool take(Left left, int from, std::size_t bytes, std::size_t offset, core::Buffer into);
    // What a stamp carries of a length that may exceed its room.
    static constexpr std::size_t agreed(std::size_t bytes) { return bytes & 0xffffffff; }
    // Wakes that member if it sleeps, or all.
    void ring(int member) { member == Area::all ? area().ring() : area().ring(member); }
    void ring() { ring(Area::all); }
    // That member is awaited, for reports.
    void await(int member) { messages_->await(group().rank_of(member)); }
    // Whether all messages of give(), take() and the two below are complete.
    bool messages_ended();
    // Whether all that the functions above and the two below have begun is complete: messages have
    // arrived, and all readers are done with what this member has lent. To be called once this
    // member has read all that it has borrowed.
    bool transfers_ended();
    void post_send(int to, core::Buffer block);
    void post_receive(int from, core::Buffer block);
    // Whether this root, which has left this many bytes, is the only root. If another member also
    // took itself for the root and left something in this call, the call breaks off. Used where the
    // contents are so long that this check costs little.
    bool is_only_root(std::size_t bytes);

    // The contents, of this many bytes, that a member has left; null if not there yet, or they do
    // not fit this call, which then breaks off.
    const std::byte* left_by(int from, std::size_t bytes) {
        const Area::Slot* const slot = look(from);
        if (slot == nullptr) return nullptr;
        if (slot->what != (kind_ | bytes)) [[unlikely]] {
            misfit(from, *slot, bytes);
            return nullptr;
        }
        return area().contents(from, messages_->call(), bytes);
    }
    // Where contents of that many bytes are.
    Left left_where(int from, std::size_t bytes) {
        const Area::Slot* const slot = look(from);
        if (slot == nullptr) return Left::nothing;
        if ((slot->what & ~(sends | lent)) != (kind_ | bytes)) [[unlikely]] {
            misfit(from, *slot, bytes);
            return Left::nothing;
        }
        if ((slot->what & lent) != 0) return Left::lent;
        return (slot->what & sends) != 0 ? Left::message : Left::contents;
    }
    // The value that the writer passed to leave_for(), less than 2^40; used for contents whose
    // length only the writer knows. Empty if it is not there yet, or belongs to another call.
    std::optional<std::uint64_t> said_by(int from) {
        const Area::Slot* const slot = look(from);
        if (slot == nullptr) return std::nullopt;
        if (slot->what >> 40 != kind_ >> 40) [[unlikely]] {
            misfit(from, *slot, 0);
            return std::nullopt;
        }
        return slot->what & ~(~std::uint64_t{0} << 40);
    }
    // The contents of a member, of that length.
    std::byte* contents_of(int from, std::size_t bytes) {
        return area().contents(from, messages_->call(), bytes);
    }
    // For a member that reads nothing of contents of that length, which others have left for all,
    // or lent. To be followed by transfers_ended().
    void pass_over(std::size_t bytes) {
        area().pass_over(messages_->call(), bytes);
        borrowed_ = borrowed_ || lends(Area::all, bytes, bytes);
    }
    // The contents of that member have another size than expected: the call breaks off.
    void misfit(int from, std::size_t found, std::size_t expected);
    // Calls take(member, its contents) for all other members in turn, as far as contents have
    // arrived. Returns true if it was called for all.
    template <class Take>
    bool take_all(std::size_t bytes, Take&& take) {
        for (; next_ < size(); ++next_) {
            if (next_ == member()) continue;
            const std::byte* const from = left_by(next_, bytes);
            if (from == nullptr) return false;
            take(next_, from);
        }
        return true;
    }
    // Whether all other members have left their contents.
    bool all_left(std::size_t bytes) {
        return take_all(bytes, [](int, const std::byte*) {});
    }

    // Adds the contributions of all members to `sum` in the order that all algorithms use: line by
    // line of the grid, the last dimension first. from(member): its contribution; for the members
    // at places 0 and 1, which are added first, it may be `sum` itself.
    template <class From>
    void fold_grid(const Group& grid, const Operation& operation, std::byte* sum, std::size_t count,
                   From&& from) {
        fold<false>(grid, operation, sum, count, 0, from);
    }
    // Adds the contributions in the order in which a member adds them when the lines deliver them:
    // its own line first, the first dimension first, and in each line its own contribution before
    // the others.
    template <class From>
    void fold_to_own(const Group& grid, const Operation& operation, std::byte* sum,
                     std::size_t count, From&& from) {
        fold<true>(grid, operation, sum, count, grid.place(), from);
    }

  private:
    Area& area() const { return *messages_->area(); }
    void stamp(std::size_t bytes) {
        area().stamp(messages_->call(), kind_ | bytes);
        left_ = true;
    }
    bool copy_in(int to, const void* from, std::size_t bytes) {
        std::byte* const room = claim_for(to, bytes);
        if (room != nullptr) copy_into(room, from, bytes);
        return room != nullptr;
    }
    // Memory of this length and more is lent.
    static constexpr std::size_t lend_from = std::size_t{8} << 10;
    static constexpr std::size_t lend_crowded_from = std::size_t{64} << 10;
    Area::Lent name_of(core::Buffer memory) const;
    bool readers_ended();
    void end_borrowing();
    bool grow_for(int to, const std::byte* from, std::size_t bytes);
    bool take_as_grown(int from, std::size_t bytes, std::size_t offset, core::Buffer into);
    // The request for a message between this member and that one.
    std::size_t request_of(int other) const {
        return std::size_t(other < member() ? other : other - 1);
    }
    void reserve_requests();
    const Area::Slot* look(int from) {
        const Area::Slot* const slot = area().look(from, messages_->call());
        messages_->await(slot == nullptr ? group().rank_of(from) : core::any_source);
        if (slot == nullptr && area().is_gone(from, messages_->call())) [[unlikely]]
            messages_->break_off(core::Error::mismatch, group().rank_of(from));
        return slot;
    }
    void misfit(int from, const Area::Slot& slot, std::size_t expected);

    template <bool to_own, class From>
    void fold(const Group& grid, const Operation& operation, std::byte* sum, std::size_t count,
              int place, From& from) {
        sum_bytes_ = count * operation.element;
        if (sum_bytes_ == 0) return;
        partial_ = sums_.reserve(Scratch::rounded(sum_bytes_) * std::size_t(grid.dimensions()));
        fold_lines<to_own>(grid, operation, sum, count, grid.dimensions() - 1, place, from);
    }
    // The sum over all members that differ from `place` in this many dimensions plus one: the first
    // dimensions, or the last.
    template <bool to_own, class From>
    void fold_lines(const Group& grid, const Operation& operation, std::byte* sum,
                    std::size_t count, int level, int place, From& from) {
        const auto value = [&](int at) { return from(grid.member_at(at)); };
        const int dimension = to_own ? level : grid.dimensions() - 1 - level;
        const int stride = grid.stride(dimension);
        const int here = grid.coordinate(place, dimension);
        const std::byte* so_far = sum;
        if (level == 0)
            so_far = value(place);
        else
            fold_lines<to_own>(grid, operation, sum, count, level - 1, place, from);
        for (int c = 0; c < grid.extent(dimension); ++c) {
            if (c == here) continue;
            const int at = place + (c - here) * stride;
            const std::byte* more = nullptr;
            if (level == 0) {
                more = value(at);
            } else {
                std::byte* const partial =
                    partial_ + Scratch::rounded(sum_bytes_) * std::size_t(level);
                fold_lines<to_own>(grid, operation, partial, count, level - 1, at, from);
                more = partial;
            }
            operation.combine(sum, so_far, more, count, operation.closure);
            so_far = sum;
        }
        if (so_far != sum) std::memcpy(sum, so_far, sum_bytes_);
    }

    Messages* messages_;
    std::uint64_t kind_ = 0;  // kind of call in the high bits, root in the low bits
    bool rooted_ = false;
    bool left_ = false;
    std::optional<int> lent_to_;  // the member that reads what this one has lent, or Area::all
    bool borrowed_ = false;       // this member reads what others may have lent
    std::vector<int> lenders_;    // the members whose memory it reads
    bool posts_ = false;          // requests are reserved
    std::vector<int> sending_;    // members to which messages are on their way
    std::vector<int> receiving_;  // members whose messages are
    int next_ = 0;                // the member whose slot comes next
    std::size_t part_taken_ = 0;  // bytes of the part that take_grown() takes
    Scratch sums_;                // one per dimension
    std::byte* partial_ = nullptr;
    std::size_t sum_bytes_ = 0;
};

}  // namespace torusmp::collectives
