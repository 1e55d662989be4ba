// SPDX-License-Identifier: BSD-3-Clause
// One seeded job whose cables die and come back under traffic, some at the same time, some
// repeatedly; the torus always stays connected, and no message may be affected.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/link/cable_faults.h"
#include "core/soak.h"

namespace torusmp::core::testing {

struct DetourRound {
    std::string scene;    // what was tried
    std::string failure;  // empty: all was right
    std::uint64_t cuts = 0;
    std::uint64_t mends = 0;
    std::uint64_t messages = 0;  // or collectives
};

enum class Shapes { tori, graphs };

// A connected graph of 2 to 32 ranks.
std::shared_ptr<const routing::Graph> random_graph(std::uint64_t seed);

// A job for such a round: shape, credits and delays by the seed.
JobOptions detour_job(std::uint64_t seed, Shapes shapes = Shapes::tori);

// The cuts and repairs of cables while a round runs.
class CableSchedule {
  public:
    // A cable is cut or repaired every `size of the job << seldom` turns or less often.
    CableSchedule(Job& job, const JobOptions& options, sim::Random& random,
                  std::uint64_t seldom = 2);

    // Before a turn of the job: now and then a cable is cut or mended. What link ends then keep
    // beyond all bounds; empty: nothing.
    std::string before_a_turn();
    // When all traffic has ended, mends all: what is wrong then; empty: nothing.
    std::string end();

    std::string describe() const;
    std::uint64_t cuts() const { return cuts_; }
    std::uint64_t mends() const { return mends_; }

  private:
    Job& job_;
    const JobOptions& options_;
    sim::Random& random_;
    CableFaults cables_;
    // Turns: at the least so many that now and then all hear of one change before the next.
    const std::uint64_t pause_;
    const std::uint64_t cuts_of_ten_;
    std::uint64_t cuts_ = 0;
    std::uint64_t mends_ = 0;
};

// messages: how many, more or less.
DetourRound run_detour_round(std::uint64_t seed, std::uint64_t messages,
                             Shapes shapes = Shapes::tori);

// The rounds of a program of these seeds, one after the other. Prints the first that fails, or the
// sum of all, whose messages are called `what`. Returns the exit code.
int soak_detours(const char* program, const Seeds& seeds, const char* what,
                 const std::function<DetourRound(std::uint64_t seed)>& run);

}  // namespace torusmp::core::testing
