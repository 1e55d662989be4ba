// SPDX-License-Identifier: BSD-3-Clause
// What a machine that is described by a Model takes, by running the real core and the real
// collectives on it: all its ranks in this process, in simulated time.
//
// One thread. The same calls on the same model give the same times. Ranks share their buffers:
// what is in them does not matter.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/predict/model.h"
#include "collectives/group/group.h"
#include "core/simulated/timed_job.h"
#include "routing/torus.h"

namespace torusmp::bench {

// Nanoseconds.
class Prediction {
  public:
    Prediction(const routing::Torus& torus, const Model& model);

    // Half a round trip between rank 0 and this one.
    double latency(routing::Rank peer, std::size_t bytes);
    // Many messages in flight one way, from rank 0: time of each.
    double stream(routing::Rank peer, std::size_t bytes);
    // Every rank exchanges with its neighbours in all directions.
    double halo(std::size_t bytes);
    // So many calls, one after the other without a barrier between, rooted at rank 0, which all
    // ranks begin at the same time: until the last has ended, for each call.
    double collective(std::string_view operation, std::string_view algorithm, std::size_t bytes,
                      int calls = 1);
    struct Iteration {
        double whole = 0;        // of the conjugate gradient in examples/wilson
        double computation = 0;  // of it, what a rank computes
        double flops = 0;        // of a rank
    };
    // On a lattice of that extent in four dimensions on each rank, split in the dimensions of the
    // torus.
    Iteration wilson(int extent);

    std::uint64_t packets() const { return job_.packets(); }

  private:
    using Programs = std::vector<std::unique_ptr<core::simulated::Program>>;
    Programs idle() const;

    Model model_;
    std::vector<std::byte> in_, out_;
    core::simulated::TimedJob job_;
    std::vector<std::unique_ptr<collectives::Group>> groups_;  // by rank
};

}  // namespace torusmp::bench
