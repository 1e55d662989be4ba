// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose cables die and come back under traffic, now several at once, now the same
// one again and again, and never so many that the torus falls apart: no message may notice.
#pragma once

#include <cstdint>
#include <string>

namespace torusmp::core::testing {

struct DetourRound {
    std::string scene;    // what was tried
    std::string failure;  // empty: all was right
    std::uint64_t cuts = 0;
    std::uint64_t mends = 0;
    std::uint64_t messages = 0;
};

// messages: how many, more or less.
DetourRound run_detour_round(std::uint64_t seed, std::uint64_t messages);

}  // namespace torusmp::core::testing
