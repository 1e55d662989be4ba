// SPDX-License-Identifier: BSD-3-Clause
// The measurements of torus-bench, one file each.
//
// Collective: every rank calls the same one with the same context, inside a Session. The table is
// complete on every rank.
#pragma once

#include <functional>
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

// Two ranks that talk while the others stand by: rank 0 and its partner.
struct Pair {
    int partner = 1;  // of rank 0
    int hops = 1;
    int role = -1;   // 0 and 1: the two; -1: stands by
    int other = -1;  // the rank at the other end, for the two
};

// --peer, or a neighbour of rank 0. Throws config::UsageError for a rank that does not exist, and
// std::runtime_error if there is nobody to talk to.
Pair choose_pair(const Context& context);
// Rank 0 and this one.
Pair pair_with(const Context& context, int partner);
// "ranks 0 and 1 (1 hop)"
std::string describe(const Pair& pair);

// Half a round trip is one message: the body does whole round trips of a pair.
std::function<void(long)> round_trips(const Pair& pair, class Channel* send,
                                      class Channel* receive);

}  // namespace torusmp::bench
