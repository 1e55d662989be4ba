// SPDX-License-Identifier: BSD-3-Clause
// Predicts the times of a machine described by a Model by running the real core and the real
// collectives on it: all ranks in this process, in simulated time.
//
// One thread. The same calls on the same model give the same times. Ranks share their buffers,
// whose contents do not matter.
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

// All times are in nanoseconds.
class Prediction {
  public:
    Prediction(const routing::Torus& torus, const Model& model);

    // Half a round trip between rank 0 and `peer`.
    double latency(routing::Rank peer, std::size_t bytes);
    // Time per message, with many in flight from rank 0.
    double stream(routing::Rank peer, std::size_t bytes);
    // Time of an exchange of every rank with its neighbours in all directions.
    double halo(std::size_t bytes);
    // Time per call of consecutive calls without a barrier between them, rooted at rank 0, from a
    // common start of all ranks to the end of the last.
    double collective(std::string_view operation, std::string_view algorithm, std::size_t bytes,
                      int calls = 1);
    struct Iteration {
        double whole = 0;        // an iteration of the conjugate gradient in examples/wilson
        double computation = 0;  // part of it that a rank computes
        double flops = 0;        // per rank
    };
    // For a lattice of that extent in four dimensions on each rank, split in the dimensions of the
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
