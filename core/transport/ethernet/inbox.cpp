// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/inbox.h"

#include <utility>

#include "base/assert.h"

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
    TORUSMP_ASSERT(!it.there && number > next_ && number - next_ < span, number, next_, kept_);
    it.there = true;
    it.grants = grants;
    it.records.assign(front.begin(), front.end());
    it.records.insert(it.records.end(), rest.begin(), rest.end());
    ++kept_;
}

bool Inbox::take_next(CreditWord& grants, std::vector<std::byte>& records) {
    if (!has(next_)) return false;
    Kept& it = all_[next_ % span];
    TORUSMP_ASSERT(kept_ != 0 && kept_ <= span, next_, kept_);
    it.there = false;
    --kept_;
    grants = it.grants;
    std::swap(records, it.records);
    return true;
}

}  // namespace torusmp::transport::ethernet
