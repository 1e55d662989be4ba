// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose ranks access each other's windows in every way, against a model of their
// memory, while cables die and come back.
#pragma once

#include <cstdint>

#include "core/link/detour_round.h"

namespace torusmp::core::testing {

// accesses: how many, more or less. cables: whether some die.
DetourRound run_window_round(std::uint64_t seed, std::uint64_t accesses, bool cables);

}  // namespace torusmp::core::testing
