// SPDX-License-Identifier: BSD-3-Clause
// The measurements of torus-bench, one file each.
//
// Collective: every rank calls the same one with the same context, inside a Session. The table is
// complete on every rank.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "bench/figures/figures.h"
#include "bench/torus_bench/options.h"
#include "bench/torus_bench/progress.h"
#include "routing/torus.h"

namespace torusmp::bench {

struct Context {
    const Options& options;
    const routing::Torus& torus;  // of the ranks
    Progress& progress;
};

Table measure_latency(const Context& context);
Table measure_bandwidth(const Context& context);
Table measure_sweep(const Context& context);
Table measure_aggregate(const Context& context);
Table measure_relay(const Context& context);
Table measure_overlap(const Context& context);
Table measure_efficiency(const Context& context);
Table measure_collectives(const Context& context);
Table measure_steps(const Context& context);
Table measure_forward(const Context& context);
Table measure_io(const Context& context);
Table measure_windows(const Context& context);

// Thrown by all ranks with the same text, so that rank 0 reports it and the job ends in an orderly
// way.
class AgreedError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Two ranks that communicate while the others are idle: rank 0 and its partner.
struct Pair {
    int partner = 1;  // of rank 0
    int hops = 1;
    int role = -1;   // 0 and 1 for the two ranks; -1 if idle
    int other = -1;  // the peer, for the two
};

// Returns the pair of --peer, or rank 0 and a neighbour. Throws config::UsageError for a rank that
// does not exist, and std::runtime_error if there is only one rank.
Pair choose_pair(const Context& context);
// Rank 0 and this one.
Pair pair_with(const Context& context, int partner);
// "ranks 0 and 1 (1 hop)"
std::string describe(const Pair& pair);

// The body does whole round trips of a pair; half a round trip is one message.
std::function<void(long)> round_trips(const Pair& pair, class Channel* send,
                                      class Channel* receive);

}  // namespace torusmp::bench
