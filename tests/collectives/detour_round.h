// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose cables die and come back during parallel collectives of all kinds, on all
// ranks and on groups of them: each must end with the right answer.
#pragma once

#include "core/link/detour_round.h"

namespace torusmp::collectives::testing {

core::testing::DetourRound run_collectives_among_faults(
    std::uint64_t seed, core::testing::Shapes shapes = core::testing::Shapes::tori);

}  // namespace torusmp::collectives::testing
