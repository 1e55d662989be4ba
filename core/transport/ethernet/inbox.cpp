// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/inbox.h"

#include <utility>

namespace torusmp::transport::ethernet {

Inbox::Place Inbox::place_of(std::uint64_t number) const {
    if (number == next_) return Place::next;
    if (number < next_) return Place::repeated;
    if (number - next_ >= span) return Place::beyond;
    return has(number) ? Place::repeated : Place::early;
}

std::uint64_t Inbox::early() const {
    std::uint64_t bits = 0;
    if (kept_ == 0) return bits;
    for (unsigned i = 0; i < 64; ++i)
        if (has(next_ + 1 + i)) bits |= std::uint64_t{1} << i;
    return bits;
}

void Inbox::keep(std::uint64_t number, CreditWord grants, ConstBytes front, ConstBytes rest) {
    if (all_.empty()) all_.resize(span);
    Kept& it = all_[number % span];
    it.there = true;
    it.grants = grants;
    it.records.assign(front.begin(), front.end());
    it.records.insert(it.records.end(), rest.begin(), rest.end());
    ++kept_;
}

bool Inbox::take_next(CreditWord& grants, std::vector<std::byte>& records) {
    if (!has(next_)) return false;
    Kept& it = all_[next_ % span];
    it.there = false;
    --kept_;
    grants = it.grants;
    std::swap(records, it.records);
    return true;
}

}  // namespace torusmp::transport::ethernet
