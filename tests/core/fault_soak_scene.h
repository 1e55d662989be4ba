// SPDX-License-Identifier: BSD-3-Clause
// The state shared by all parts of a round of the fault soak: the job, its random generator, and
// the result so far.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "fault_soak_round.h"
#include "job.h"

namespace torusmp::core::testing::fault_soak {

struct Scene {
    explicit Scene(std::uint64_t seed);

    // Moves the job; throws std::runtime_error when it runs in circles. False: nothing moves.
    bool turn();
    // Reports a fault; the first one is kept.
    void bad(const std::string& what);

    RoundResult result{};
    std::uint64_t seed;
    sim::Random random;
    std::size_t eager_limit = 0;
    bool direct = false;
    std::uint64_t turns = 0;
    std::unique_ptr<Job> job;
};

inline std::string name(Rank rank) {
    return fmt::format("rank {}", rank);
}

}  // namespace torusmp::core::testing::fault_soak
