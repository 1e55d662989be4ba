// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/heap.h"

#include <algorithm>
#include <iterator>

namespace torusmp::transport::shm {
namespace {

constexpr std::uint64_t unit = 64;  // a cache line: no two buffers share one
// Freed stretches of at least this size return their pages to the system.
constexpr std::uint64_t worth_discarding = std::uint64_t{256} << 10;

}  // namespace

Heap::Heap(const Segment& segment) : segment_(segment), memory_(segment.heap()) {
    free_.emplace(0, memory_.size());
}

void* Heap::allocate(std::size_t bytes, std::size_t alignment) {
    const std::uint64_t wanted = round_up(std::max<std::uint64_t>(bytes, 1), unit);
    if (wanted < bytes || alignment > memory_.size()) return nullptr;
    const std::uint64_t align =
        std::max<std::uint64_t>({alignment, unit, bytes >= page ? page : unit});
    const auto origin = std::uint64_t(reinterpret_cast<std::uintptr_t>(memory_.data()));
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
        const auto [begin, length] = *hole;
        const std::uint64_t start = round_up(origin + begin, align) - origin;
        const std::uint64_t end = begin + length;
        if (start >= end || end - start < wanted) continue;
        free_.erase(hole);
        if (start != begin) free_.emplace(begin, start - begin);
        if (start + wanted != end) free_.emplace(start + wanted, end - start - wanted);
        used_.emplace(start, wanted);
        if (start + wanted > shown_) show_in_dumps(start + wanted);
        return memory_.data() + start;
    }
    return nullptr;
}

void Heap::show_in_dumps(std::uint64_t bytes) {
    const std::uint64_t wanted = round_up(bytes, Segment::dump_unit);
    if (wanted == shown_) return;
    segment_.show_in_dumps(std::min(wanted, shown_), std::max(wanted, shown_), wanted > shown_);
    shown_ = wanted;
}

void Heap::free(void* memory) {
    if (memory == nullptr) return;
    const auto found = used_.find(std::uint64_t(static_cast<std::byte*>(memory) - memory_.data()));
    if (found == used_.end()) return;
    auto [begin, length] = *found;
    used_.erase(found);
    if (length >= worth_discarding) {
        const std::uint64_t heap = segment_.control().heap_offset;
        const std::uint64_t first = round_up(heap + begin, page);
        const std::uint64_t last = (heap + begin + length) / page * page;
        if (last > first) segment_.discard(first, last - first);
        show_in_dumps(used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second);
    }
    const auto after = free_.lower_bound(begin);
    if (after != free_.end() && begin + length == after->first) {
        length += after->second;
        free_.erase(after);
    }
    const auto next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == begin) {
            before->second += length;
            return;
        }
    }
    free_.emplace(begin, length);
}

bool Heap::contains(const void* memory, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(memory);
    return first >= memory_.data() && first < memory_.data() + memory_.size() &&
           bytes <= std::size_t(memory_.data() + memory_.size() - first);
}

}  // namespace torusmp::transport::shm
