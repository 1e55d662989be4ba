// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/operation.h"

#include <cstring>

namespace torusmp::collectives {

void fold_line(const Operation& operation, std::byte* own, int here, std::byte* slots,
               std::size_t slot_bytes, int extent, std::size_t count) {
    const auto contribution = [&](int c) {
        return c == here ? own : slots + slot_bytes * std::size_t(c);
    };
    std::byte* sum = contribution(0);
    for (int c = 1; c < extent; ++c)
        operation.combine(sum, contribution(c), count, operation.closure);
    if (sum != own) std::memcpy(own, sum, count * operation.element);
}

}  // namespace torusmp::collectives
