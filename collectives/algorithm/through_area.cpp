// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/through_area.h"

namespace torusmp::collectives {

// Handled like a message that does not fit its receive.
void ThroughArea::misfit(int from, const Area::Slot& slot, std::size_t expected) {
    const std::uint64_t sizes = ~(~std::uint64_t{0} << 40);
    const std::size_t found = slot.what & sizes;
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
    if (bytes <= Area::room_bytes) return true;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (int other = 0; other < size(); ++other) {
        if (other == member() || area().look(other, messages_->call()) == nullptr) continue;
        messages_->break_off(core::Error::truncated, group().rank_of(other), bytes, 0);
        return false;
    }
    return true;
}

}  // namespace torusmp::collectives
