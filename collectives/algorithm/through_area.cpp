// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/through_area.h"

#include <array>
#include <utility>

#include "base/assert.h"

namespace torusmp::collectives {

// Handled like a message that does not fit its receive.
void ThroughArea::misfit(int from, const Area::Slot& slot, std::size_t expected) {
    const std::uint64_t sizes = ~(~std::uint64_t{0} << 40);
    const std::size_t found = slot.what & sizes & ~(sends | lent);
    if ((slot.what & ~sizes) != kind_ || found == expected)
        return messages_->break_off(core::Error::mismatch, group().rank_of(from));
    misfit(from, found, expected);
}

void ThroughArea::misfit(int from, std::size_t found, std::size_t expected) {
    messages_->break_off(found > expected ? core::Error::truncated : core::Error::mismatch,
                         group().rank_of(from), found, expected);
}

// If there are two roots, each leaves its contents before it looks, so at least one finds the
// other's.
bool ThroughArea::is_only_root(std::size_t bytes) {
    if (bytes <= Area::short_bytes) return true;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (int other = 0; other < size(); ++other) {
        if (other == member() || area().look(other, messages_->call()) == nullptr) continue;
        messages_->break_off(core::Error::truncated, group().rank_of(other), bytes, 0);
        return false;
    }
    return true;
}

bool ThroughArea::grow_for(int to, const std::byte* from, std::size_t bytes) {
    std::byte* const room = claim_for(to, bytes);
    if (room == nullptr) return false;
    area().set_grown(messages_->call(), 0);
    leave_for(to, bytes);
    for (std::size_t at = 0; at < bytes;) {
        const std::size_t piece = std::min(growth, bytes - at);
        copy_into(room + at, from + at, piece);
        at += piece;
        area().set_grown(messages_->call(), at);
        ring(to);
    }
    return true;
}

bool ThroughArea::take_as_grown(int from, std::size_t bytes, std::size_t offset,
                                core::Buffer into) {
    const std::size_t there = std::min(std::max(grown(from, bytes), offset) - offset, into.bytes);
    const std::byte* const contents = contents_of(from, bytes) + offset;
    copy_from(into.base + part_taken_, contents + part_taken_, there - part_taken_);
    part_taken_ = there;
    if (part_taken_ < into.bytes) {
        await(from);
        return false;
    }
    part_taken_ = 0;
    return true;
}

bool ThroughArea::give(int to, const std::byte* from, std::size_t bytes, int blocks) {
    if (left_) return true;
    if (lends(to, bytes, bytes) && lend(to, bytes, {{from, bytes}})) return true;
    const bool sends_it = halves_pay(bytes) && is_within_reach(from, bytes);
    if (!sends_it && !messages_pay(to, bytes, blocks, bytes, true))
        return leave_growing_for(to, from, bytes);
    if (claim_for(to, 0) == nullptr) return false;
    const core::Buffer contents(from, bytes);
    // Each member begins with the next one, so that they do not all send to the same member first.
    for (int k = 1; k < size(); ++k) {
        const int other = (member() + k) % size();
        if (to == Area::all || to == other) post_send(other, contents);
    }
    leave_for(to, bytes | sends);
    return true;
}

bool ThroughArea::take(Left left, int from, std::size_t bytes, std::size_t offset,
                       core::Buffer into) {
    if (left == Left::nothing) return false;
    if (left == Left::contents) return take_grown(from, bytes, offset, into);
    if (left == Left::lent) {
        const std::byte* const there = borrow(from, bytes);
        if (there != nullptr) std::memcpy(into.base, there + offset, into.bytes);
        return there != nullptr;
    }
    post_receive(from, into);
    return true;
}

void ThroughArea::reserve_requests() {
    if (!std::exchange(posts_, true))
        use_requests(std::size_t(size() - 1), std::size_t(size() - 1));
}

void ThroughArea::post_send(int to, core::Buffer block) {
    reserve_requests();
    send(request_of(to), block, group().rank_of(to));
    sending_.push_back(to);
}

void ThroughArea::post_receive(int from, core::Buffer block) {
    reserve_requests();
    receive(request_of(from), block, group().rank_of(from));
    receiving_.push_back(from);
}

Area::Lent ThroughArea::name_of(core::Buffer memory) const {
    return group().runtime().shared().lend({memory.base, memory.bytes});
}

bool ThroughArea::lend(int to, std::uint64_t word, std::initializer_list<core::Buffer> memories) {
    std::array<Area::Lent, 2> names;
    TORUSMP_ASSERT(memories.size() <= names.size(), memories.size());
    std::size_t count = 0;
    for (const core::Buffer& memory : memories) {
        names[count] = name_of(memory);
        if (names[count++].length == 0) return false;
    }
    const std::size_t bytes = count * sizeof names.front();
    std::byte* const room = claim_for(to, bytes);
    if (room == nullptr) return false;
    std::memcpy(room, names.data(), bytes);
    leave_for(to, word | lent);
    lent_to_ = to;
    return true;
}

const std::byte* ThroughArea::borrow(int from, std::size_t bytes, std::size_t index,
                                     std::size_t count) {
    Area::Lent name;
    std::memcpy(&name, contents_of(from, count * sizeof name) + index * sizeof name, sizeof name);
    const core::Rank owner = group().rank_of(from);
    const std::byte* there = nullptr;
    if (name.length != bytes)
        misfit(from, std::size_t(name.length), bytes);
    else if ((there = group().runtime().shared().borrow(owner, name)) == nullptr)
        messages_->break_off(core::Error::unreachable, owner);
    borrowed_ = true;
    lenders_.push_back(from);
    return there;
}

bool ThroughArea::find_all(std::size_t bytes, std::vector<const std::byte*>& at) {
    for (; next_ < size(); ++next_) {
        if (next_ == member()) continue;
        const Left left = left_where(next_, bytes);
        if (left == Left::nothing) return false;
        at[std::size_t(next_)] =
            left == Left::lent ? borrow(next_, bytes) : contents_of(next_, bytes);
        if (failed()) return false;
    }
    return true;
}

void ThroughArea::set_step(Area::Step step) {
    area().set_step(messages_->call(), step);
    ring();
}

bool ThroughArea::has_step(int other, Area::Step step) {
    if (area().has_step(other, messages_->call(), step)) return true;
    await(other);
    return false;
}

bool ThroughArea::readers_ended() {
    if (*lent_to_ != Area::all) return has_step(*lent_to_, Area::Step::read);
    for (int reader = 0; reader < size(); ++reader)
        if (reader != member() && !has_step(reader, Area::Step::read)) return false;
    return true;
}

bool ThroughArea::messages_ended() {
    for (const int to : sending_)
        if (!sent(request_of(to))) return false;
    for (const int from : receiving_)
        if (!received(request_of(from))) return false;
    return !failed();
}

void ThroughArea::end_borrowing() {
    borrowed_ = false;
    for (const int lender : lenders_)
        if (!group().runtime().shared().is_intact(group().rank_of(lender)))
            messages_->break_off(core::Error::unreachable, group().rank_of(lender));
    set_step(Area::Step::read);
}

bool ThroughArea::transfers_ended() {
    if (borrowed_) end_borrowing();
    return messages_ended() && (!lent_to_ || readers_ended());
}

}  // namespace torusmp::collectives
