// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose cables die and come back under collectives of all kinds, of all ranks and of
// groups of them, several at once: each ends, with the right answer.
#pragma once

#include "core/link/detour_round.h"

namespace torusmp::collectives::testing {

core::testing::DetourRound run_collectives_among_faults(std::uint64_t seed);

}  // namespace torusmp::collectives::testing
