// SPDX-License-Identifier: BSD-3-Clause
// What became of the shortcuts of a rank, for reports and for tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::core {

struct ShortcutCounts {
    std::size_t open = 0;      // now, in use or still being made
    std::uint64_t made = 0;    // attempts, for us and for those who called
    std::uint64_t failed = 0;  // that came to nothing, or were lost
    std::uint64_t closed = 0;  // to make room, while they worked
    std::uint64_t resent = 0;  // packets that went once more, by relay
};

}  // namespace torusmp::core
