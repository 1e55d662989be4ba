// SPDX-License-Identifier: BSD-3-Clause
// Predicts the algorithms of other libraries in the same model: plain messages between any two
// ranks, which the kernels of the nodes between forward along shortest paths. The core does not run
// here, so much larger tori fit, and some of torusmp's collectives are replayed on them
// (schedules.h).
//
// Favours the other libraries where the model has no data: no rendezvous, flow control or loss.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "bench/predict/model.h"
#include "routing/torus.h"

namespace torusmp::bench {

// A step of a rank: it sends, then waits for a message; either may be left out.
struct RouteStep {
    routing::Rank to = -1;
    std::size_t bytes = 0;
    routing::Rank from = -1;
    bool alone = false;  // the rank waits until its message has left the first link
};
// Returns step n of a rank, from 0; nullopt if the rank has ended.
using RouteProgram = std::function<std::optional<RouteStep>(routing::Rank rank, int step)>;

// Returns the nanoseconds until the last rank has ended. Throws std::runtime_error on a deadlock.
double time_on_routes(const routing::Torus& torus, const Model& model, const RouteProgram& program);

// Repeats a program without a barrier between the rounds.
RouteProgram repeated(const RouteProgram& program, int ranks, int times);

// The algorithms, rooted at rank 0.
RouteProgram binomial_broadcast(int ranks, std::size_t bytes);
RouteProgram binomial_scatter(int ranks, std::size_t block);
// The root sends one message after the other, in rank order, along shortest paths.
RouteProgram scatter_one_by_one(int ranks, std::size_t block);
RouteProgram recursive_doubling_sum(int ranks, std::size_t bytes);
RouteProgram ring_sum(int ranks, std::size_t bytes);
RouteProgram pairwise_alltoall(int ranks, std::size_t block);

}  // namespace torusmp::bench
