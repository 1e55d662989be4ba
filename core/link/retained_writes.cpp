// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/retained_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {

using transport::ConstBytes;

std::size_t RetainedWrite::bytes() const {
    std::size_t sum = 0;
    for (const ConstBytes& piece : local) sum += piece.size();
    return sum;
}

void RetainedWrite::copy(std::size_t from, std::size_t bytes, std::byte* to) const {
    for (const ConstBytes& piece : local) {
        const std::size_t over = std::min(from, piece.size());
        const std::size_t part = std::min(piece.size() - over, bytes);
        if (part != 0) std::memcpy(to, piece.data() + over, part);
        to += part;
        from -= over;
        bytes -= part;
        if (bytes == 0) return;
    }
}

RetainedWrite& RetainedWrites::push() {
    if (count_ == places_.size()) {
        std::rotate(places_.begin(), places_.begin() + std::ptrdiff_t(first_), places_.end());
        first_ = 0;
        places_.resize(std::max<std::size_t>(4, 2 * places_.size()));
    }
    RetainedWrite& write = places_[(first_ + count_++) % places_.size()];
    write.done = false;
    return write;
}

void RetainedWrites::pop() {
    TORUSMP_ASSERT(count_ != 0 && count_ <= places_.size(), count_, places_.size());
    first_ = (first_ + 1) % places_.size();
    --count_;
    ++first_number_;
}

void RetainedWrites::drop_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i)
        if (!(*this)[i].done) {
            if (kept != i) std::swap((*this)[kept], (*this)[i]);
            ++kept;
        }
    count_ = kept;
}

}  // namespace torusmp::core
