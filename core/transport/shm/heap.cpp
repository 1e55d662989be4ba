// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/heap.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/assert.h"

namespace torusmp::transport::shm {
namespace {

constexpr std::uint64_t unit = 64;  // a cache line: no two buffers share one
// Stretches of at least this size return their pages to the system, and are cleared by doing so.
constexpr std::uint64_t worth_discarding = std::uint64_t{256} << 10;

// The bytes of a block; 0 if there are too many.
std::uint64_t rounded(std::size_t bytes) {
    const std::uint64_t result = round_up(std::max<std::uint64_t>(bytes, 1), unit);
    return result < bytes ? 0 : result;
}

}  // namespace

Heap::Heap(const Segment& segment, Bytes part) : segment_(segment), memory_(part) {
    add_hole(0, {memory_.size(), 0});
}

std::uint64_t Heap::offset_of(const void* block) const {
    return std::uint64_t(static_cast<const std::byte*>(block) - memory_.data());
}

void Heap::add_hole(std::uint64_t begin, Hole hole) {
    if (hole.bytes == 0) return;
    holes_.emplace(begin, hole);
    holes_by_bytes_.emplace(hole.bytes, begin);
    kept_ += hole.kept;
}

Heap::Hole Heap::take_hole(Holes::iterator at) {
    const auto [begin, hole] = *at;
    holes_.erase(at);
    holes_by_bytes_.erase({hole.bytes, begin});
    kept_ -= hole.kept;
    return hole;
}

void* Heap::allocate(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard guard(lock_);
    const std::uint64_t wanted = rounded(bytes);
    if (wanted == 0 || alignment > memory_.size()) return nullptr;
    const std::uint64_t align =
        std::max<std::uint64_t>({alignment, unit, bytes >= page ? page : unit});
    const auto origin = std::uint64_t(reinterpret_cast<std::uintptr_t>(memory_.data()));
    for (auto at = holes_by_bytes_.lower_bound({wanted, 0}); at != holes_by_bytes_.end(); ++at) {
        const auto [length, begin] = *at;
        const std::uint64_t start = round_up(origin + begin, align) - origin;
        const std::uint64_t end = begin + length;
        if (start >= end || end - start < wanted) continue;
        // The kept pages are taken to lie in front.
        Hole hole = take_hole(holes_.find(begin));
        const std::uint64_t front = std::min(hole.kept, start - begin);
        hole.kept -= front;
        add_hole(begin, {start - begin, front});
        add_hole(start + wanted, {end - start - wanted, hole.kept - std::min(hole.kept, wanted)});
        used_.emplace(start, wanted);
        if (start + wanted > shown_) show_in_dumps(start + wanted);
        return memory_.data() + start;
    }
    return nullptr;
}

void* Heap::allocate_cleared(std::size_t bytes) {
    void* const block = allocate(bytes, unit);
    if (block == nullptr) return nullptr;
    // Whole pages that are returned come back cleared, and only if they are used.
    const std::uint64_t whole = bytes / page * page;
    const std::uint64_t done =
        whole >= worth_discarding && discard(offset_of(block), whole) ? whole : 0;
    std::memset(static_cast<std::byte*>(block) + done, 0, bytes - done);
    return block;
}

bool Heap::resize(void* block, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    const auto found = used_.find(offset_of(block));
    const std::uint64_t wanted = rounded(bytes);
    if (found == used_.end() || wanted == 0) return false;
    const auto [begin, length] = *found;
    if (wanted < length) {
        found->second = wanted;
        release(begin + wanted, length - wanted);
    } else if (wanted > length) {
        const auto next = holes_.find(begin + length);
        if (next == holes_.end() || next->second.bytes < wanted - length) return false;
        Hole hole = take_hole(next);
        const std::uint64_t more = wanted - length;
        add_hole(begin + wanted, {hole.bytes - more, hole.kept - std::min(hole.kept, more)});
        found->second = wanted;
        if (begin + wanted > shown_) show_in_dumps(begin + wanted);
    }
    return true;
}

std::size_t Heap::size(const void* block) const {
    const std::lock_guard guard(lock_);
    const auto found = used_.find(offset_of(block));
    return found == used_.end() ? 0 : found->second;
}

void Heap::free(void* block) {
    if (block == nullptr) return;
    const int before = errno;
    const std::lock_guard guard(lock_);
    const auto found = used_.find(offset_of(block));
    if (found == used_.end()) return;
    const auto [begin, length] = *found;
    used_.erase(found);
    release(begin, length);
    errno = before;
}

void Heap::release(std::uint64_t begin, std::uint64_t bytes) {
    Hole hole{bytes, bytes};
    if (bytes >= worth_discarding && kept_ + bytes > most_kept && discard(begin, bytes)) {
        hole.kept = 0;
        show_in_dumps(used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second);
    }
    const auto merge = [&](Holes::iterator neighbour) {
        const Hole taken = take_hole(neighbour);
        hole.bytes += taken.bytes;
        hole.kept += taken.kept;
    };
    if (const auto next = holes_.find(begin + bytes); next != holes_.end()) merge(next);
    if (auto next = holes_.lower_bound(begin); next != holes_.begin()) {
        const auto before = std::prev(next);
        TORUSMP_ASSERT(before->first + before->second.bytes <= begin, before->first, begin);
        if (before->first + before->second.bytes == begin) {
            begin = before->first;
            merge(before);
        }
    }
    add_hole(begin, hole);
}

// Returns the whole pages of a stretch to the system; false if that is impossible.
bool Heap::discard(std::uint64_t begin, std::uint64_t bytes) const {
    if (forked_) return false;
    const std::uint64_t first = round_up(begin, page);
    const std::uint64_t last = (begin + bytes) / page * page;
    return last <= first || segment_.discard(memory_.subspan(first, last - first));
}

// The boundary moves in steps.
void Heap::show_in_dumps(std::uint64_t bytes) {
    constexpr std::uint64_t step = std::uint64_t{256} << 10;
    const std::uint64_t wanted = std::min<std::uint64_t>(round_up(bytes, step), memory_.size());
    if (wanted == shown_) return;
    const auto [begin, end] = std::minmax(wanted, shown_);
    Segment::show_in_dumps(memory_.subspan(begin, end - begin), wanted > shown_);
    shown_ = wanted;
}

void Heap::after_fork(bool child) {
    if (child) {
        forked_ = true;
        segment_.make_private(memory_);
        Segment::show_in_dumps(memory_.subspan(shown_), false);
    }
    lock_.unlock();
}

bool Heap::contains(const void* memory, std::size_t bytes) const {
    return lies_in({static_cast<const std::byte*>(memory), bytes}, memory_);
}

}  // namespace torusmp::transport::shm
