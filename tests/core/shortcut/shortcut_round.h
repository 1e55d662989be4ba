// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose ranks use shortcuts beside the relay. Shortcuts die, cannot be made, and are
// closed in favour of others while messages are in flight; some jobs lose cables as well. No
// message may be affected, and no rank may print a message.
#pragma once

#include <cstdint>
#include <string>

#include "core/connection/shortcut_counts.h"

namespace torusmp::core::testing {

struct ShortcutRound {
    std::string scene;    // what was tried
    std::string failure;  // empty: all was right
    ShortcutCounts counts;
    std::uint64_t cuts = 0;  // of shortcuts
    std::uint64_t messages = 0;
};

// messages: how many, more or less.
ShortcutRound run_shortcut_round(std::uint64_t seed, std::uint64_t messages);

void add(ShortcutRound& sum, const ShortcutRound& round);

}  // namespace torusmp::core::testing
