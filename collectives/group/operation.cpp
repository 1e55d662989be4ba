// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/operation.h"

#include <cstring>

namespace torusmp::collectives {

void fold_line(const Operation& operation, std::byte* result, const std::byte* own, int here,
               std::byte* slots, std::size_t slot_bytes, int extent, std::size_t count) {
    const auto contribution = [&](int c) -> const std::byte* {
        return c == here ? own : slots + slot_bytes * std::size_t(c);
    };
    // Until their turn, the own values stay where they are.
    std::byte* const sum = own == result && here > 1 ? slots : result;
    const std::byte* so_far = contribution(0);
    for (int c = 1; c < extent; ++c) {
        std::byte* const to = c + 1 == extent ? result : sum;
        operation.combine(to, so_far, contribution(c), count, operation.closure);
        so_far = to;
    }
    if (so_far != result) std::memcpy(result, so_far, count * operation.element);
}

}  // namespace torusmp::collectives
