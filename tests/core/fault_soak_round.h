// SPDX-License-Identifier: BSD-3-Clause
// One round of the fault soak: a job over the simulated transport, traffic of every kind, and one
// or more faults at random moments; then every request is checked.
//
// A round is a pure function of its seed: torus, credits, traffic, faults and their moments. It
// makes and ends its job itself. One thread; nothing is kept between rounds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace torusmp::core::testing {

enum class Fault { rank_killed, link_cut, rank_captured, link_slowed };
inline constexpr std::size_t fault_kinds = 4;
std::string_view describe(Fault fault);

struct RoundResult {
    std::string failure;  // what must never happen, with what the ranks said; empty: all was right
    std::string scene;    // the torus, its credits, what was done to it
    std::array<std::uint64_t, fault_kinds> faults{};
    std::uint64_t hostile_packets = 0;
    std::uint64_t requests = 0;     // of ranks that survived
    std::uint64_t unreachable = 0;  // of them, those that ended so
    std::uint64_t protocol = 0;     // and so
    std::uint64_t cancelled = 0;    // and so
    double slowest_ms = 0;          // virtual, from the last fault to the last end of a request
    std::uint64_t count() const;    // faults of all kinds
};

RoundResult run_fault_round(std::uint64_t seed);

}  // namespace torusmp::core::testing
