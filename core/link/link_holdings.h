// SPDX-License-Identifier: BSD-3-Clause
// The memory that a rank's link ends keep for links that have died or may die; tests check its
// bounds.
#pragma once

#include <cstddef>

namespace torusmp::core {

struct LinkHoldings {
    std::size_t packets = 0;  // sent and not yet confirmed
    std::size_t held = 0;     // arrived by a detour and not yet taken
    std::size_t writes = 0;   // started and not known to be complete
    std::size_t news = 0;     // news waiting to leave
    std::size_t setups = 0;   // setups waiting to leave
    std::size_t bytes = 0;    // memory for packets, used or not
};

}  // namespace torusmp::core
