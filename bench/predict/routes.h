// SPDX-License-Identifier: BSD-3-Clause
// What other libraries' algorithms take in the same model as ours: plain messages between any two
// ranks, which the kernels of the nodes between route along shortest paths. No core runs here, so
// much larger tori fit, and some of ours are replayed here on those (schedules.h).
//
// Favours the others where the model is silent: no rendezvous, no flow control, no loss.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "bench/predict/model.h"
#include "routing/torus.h"

namespace torusmp::bench {

// A rank sends, then waits for a message; either may be left out.
struct RouteStep {
    routing::Rank to = -1;
    std::size_t bytes = 0;
    routing::Rank from = -1;
    bool alone = false;  // its message has left its first link before the rank goes on
};
// The rank's n-th step, from 0; nothing: it has ended.
using RouteProgram = std::function<std::optional<RouteStep>(routing::Rank rank, int step)>;

// Nanoseconds until the last rank has ended. Throws std::runtime_error where ranks wait for each
// other without end.
double time_on_routes(const routing::Torus& torus, const Model& model, const RouteProgram& program);

// The same again and again, without a barrier between.
RouteProgram repeated(const RouteProgram& program, int ranks, int times);

// The algorithms, from or to rank 0.
RouteProgram binomial_broadcast(int ranks, std::size_t bytes);
RouteProgram binomial_scatter(int ranks, std::size_t block);
// The root sends one message after the other, in the order of the ranks, along shortest paths.
RouteProgram scatter_one_by_one(int ranks, std::size_t block);
RouteProgram recursive_doubling_sum(int ranks, std::size_t bytes);
RouteProgram ring_sum(int ranks, std::size_t bytes);
RouteProgram pairwise_alltoall(int ranks, std::size_t block);

}  // namespace torusmp::bench
