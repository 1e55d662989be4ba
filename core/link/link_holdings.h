// SPDX-License-Identifier: BSD-3-Clause
// What link ends of a rank hold for links that died or may die: for tests, which know its bounds.
#pragma once

#include <cstddef>

namespace torusmp::core {

struct LinkHoldings {
    std::size_t packets = 0;  // sent and not confirmed
    std::size_t held = 0;     // come by a detour and not taken
    std::size_t writes = 0;   // begun and not known to be complete
    std::size_t news = 0;     // that wait to leave
    std::size_t setups = 0;   // likewise
    std::size_t bytes = 0;    // for packets, in use or not
};

}  // namespace torusmp::core
