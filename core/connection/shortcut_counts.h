// SPDX-License-Identifier: BSD-3-Clause
// Counts of a rank's shortcuts by outcome, for reports and tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::core {

struct ShortcutCounts {
    std::size_t open = 0;      // now, including those still being made
    std::uint64_t made = 0;    // attempts, by this rank and by peers
    std::uint64_t failed = 0;  // attempts that failed, and shortcuts that were lost
    std::uint64_t closed = 0;  // working ones closed to make room
    std::uint64_t resent = 0;  // packets that were sent again, by relay
};

}  // namespace torusmp::core
