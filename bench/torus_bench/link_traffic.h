// SPDX-License-Identifier: BSD-3-Clause
// Counts the traffic of each link of the torus during a benchmark.
//
// Collective: every rank constructs one and calls gather(), inside a Session. Ranks of one host
// that reach each other directly have no links, and nothing is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

class LinkCounts {
  public:
    LinkCounts();  // starts counting

    // Returns every link end of every rank, by rank and direction, on rank 0; empty on other ranks.
    std::vector<LinkTraffic> gather() const;

  private:
    struct Counted {  // as sent to rank 0
        std::int32_t rank;
        std::int32_t direction;  // routing::Direction::index()
        std::int32_t peer;
        std::int32_t unused;
        std::uint64_t bytes;  // sent
        std::uint64_t read;   // by this rank, from the peer's memory
        std::uint64_t packets;
    };
    static std::vector<Counted> count();
    static std::vector<LinkTraffic> join_ends(const std::vector<Counted>& ends);

    std::vector<Counted> before_;
};

}  // namespace torusmp::bench
