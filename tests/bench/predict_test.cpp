// SPDX-License-Identifier: BSD-3-Clause
// Predictions, and the times of other libraries' algorithms in the same model.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "bench/predict/routes.h"
#include "bench/predict/schedules.h"
#include "bench/predict/workloads.h"

using namespace torusmp;
using namespace torusmp::bench;

namespace predict_test {

Model plain() {
    Model model;
    model.link.latency = 5000;
    model.link.send_overhead = 1000;
    model.link.receive_overhead = 2000;
    model.link.gap_per_byte = 10;
    model.kernel_forward = 300;
    return model;
}

routing::Torus torus_of(std::vector<int> dims) {
    return routing::Torus(dims);
}

TEST_CASE("A message on kernel routes takes the time of the model") {
    const auto torus = torus_of({8});
    const auto to = [&](int peer) {
        return time_on_routes(torus, plain(), [=](int rank, int step) -> std::optional<RouteStep> {
            if (step > 0) return std::nullopt;
            if (rank == 0) return RouteStep{peer, 100, -1};
            if (rank == peer) return RouteStep{.from = 0};
            return std::nullopt;
        });
    };
    CHECK(to(1) == 1000 + 1000 + 5000 + 2000);
    CHECK(to(3) == to(1) + 2 * (300 + 1000 + 5000));
}

TEST_CASE("A wait for a message that is never sent is reported as endless") {
    CHECK_THROWS_WITH(time_on_routes(torus_of({4}), plain(),
                                     [](int rank, int step) -> std::optional<RouteStep> {
                                         if (rank == 1 && step == 0) return RouteStep{.from = 0};
                                         return std::nullopt;
                                     }),
                      Catch::Contains("1 ranks wait"));
}

TEST_CASE("An alltoall of large blocks takes little more time than its bytes on the links") {
    // Announcements of receives use the same links. If they waited behind blocks, each step would
    // take the time of two.
    Model model = plain();
    model.link.gap_per_byte = 1600;
    model.link.reserve = 3000;
    model.link.cores = 2;  // so that ranks do not begin at the same time
    model.link.wake = 12000;
    model.eager_limit = 16384;
    const double block = 16384, on_link = block * model.link.gap_per_byte;
    const auto time = [&](std::vector<int> dims) {
        Prediction ours(torus_of(std::move(dims)), model);
        return ours.collective("alltoall", "automatic", std::size_t(block));
    };
    CHECK(time({4}) < 1.75 * 2 * on_link);    // to both neighbours, and half each way beyond
    CHECK(time({3, 3}) < 1.5 * 3 * on_link);  // the blocks of a line of three, twice
}

TEST_CASE("A replayed schedule takes the time of the library that runs it") {
    const Model model = load_model("gige-mvia");
    for (const std::vector<int>& dims : {std::vector{4, 4, 2}, {5, 3}, {4, 8, 8}}) {
        const auto torus = torus_of(dims);
        Prediction library(torus, model);
        for (const std::size_t bytes : {8, 1024}) {
            const auto compare = [&](const char* operation, const RouteProgram& schedule) {
                const double ours = library.collective(operation, "automatic", bytes);
                const double replayed = time_on_routes(torus, model, schedule);
                INFO(torus.describe() << ' ' << operation << ' ' << bytes << " B: " << ours
                                      << " ns, replayed " << replayed);
                CHECK(replayed == Approx(ours).epsilon(0.001));
            };
            compare("broadcast", tree_broadcast(torus, bytes));
            compare("sum", line_sum(torus, bytes));
        }
    }
}

TEST_CASE("The algorithms of other libraries end on every number of ranks") {
    for (const std::vector<int>& dims :
         {std::vector{2}, {3}, {5}, {2, 2, 2}, {3, 3, 2}, {4, 4, 2}, {7, 3}}) {
        const auto torus = torus_of(dims);
        for (const auto make : {binomial_broadcast, binomial_scatter, scatter_one_by_one,
                                recursive_doubling_sum, ring_sum, pairwise_alltoall}) {
            const double small = time_on_routes(torus, plain(), make(torus.size(), 8));
            const double large = time_on_routes(torus, plain(), make(torus.size(), 8000));
            const double again =
                time_on_routes(torus, plain(), repeated(make(torus.size(), 8), torus.size(), 3));
            CHECK(again > small);
            CHECK(again <= 3.1 * small);  // one call may be in another's way
            CHECK(small > 8000);
            CHECK(large > small);
        }
    }
}

TEST_CASE("On links without cost a binomial tree takes as many steps as its height") {
    Model model;
    model.link.latency = 0;
    model.link.send_overhead = 0;
    model.link.receive_overhead = 1000;
    model.link.gap_per_byte = 1e-9;
    CHECK(time_on_routes(torus_of({4, 4}), model, binomial_broadcast(16, 1)) ==
          Approx(4000).margin(1));
    CHECK(time_on_routes(torus_of({4, 4}), model, recursive_doubling_sum(16, 8)) ==
          Approx(4000).margin(1));
    CHECK(time_on_routes(torus_of({5}), model, ring_sum(5, 5)) == Approx(8000).margin(1));
}

TEST_CASE("A neighbour's message takes the model's time, and farther ones more with each hop") {
    Prediction prediction(torus_of({6}), plain());
    const double hop = prediction.latency(2, 8) - prediction.latency(1, 8);
    CHECK(prediction.latency(1, 8) == 1000 + 80 + 5000 + 2000);
    CHECK(hop == 80 + 5000);
    CHECK(prediction.latency(3, 8) == Approx(prediction.latency(1, 8) + 2 * hop));
}

TEST_CASE(
    "The best scatter is faster than one message at a time by the number of the root's links") {
    Model model = plain();
    model.link.send_overhead = model.link.receive_overhead = 100;
    model.link.latency = 500;
    const auto torus = torus_of({4, 4, 4});
    Prediction prediction(torus, model);
    // Call after call, so that what counts is what the root's links carry.
    const double ours = prediction.collective("scatter", "automatic", 4096, 16);
    const double theirs =
        time_on_routes(torus, model, repeated(scatter_one_by_one(64, 4096), 64, 16)) / 16;
    CHECK(theirs / ours > 4);
    CHECK(theirs / ours < 6.5);
}

TEST_CASE("Every collective ends in simulated time, and a second run takes the same time") {
    for (const char* operation : {"broadcast", "sum", "scatter", "alltoall"})
        for (const std::size_t bytes : {std::size_t(8), std::size_t(40000)}) {
            Prediction first(torus_of({3, 2, 2}), plain()), second(torus_of({3, 2, 2}), plain());
            const double time = first.collective(operation, "automatic", bytes);
            INFO(operation << " " << bytes);
            CHECK(time > 8000);
            CHECK(second.collective(operation, "automatic", bytes) == time);
        }
}

TEST_CASE("An iteration of wilson takes its computation and the communication that is not hidden") {
    Model model = plain();
    model.gflops = 1;
    Prediction prediction(torus_of({2, 2, 2}), model);
    const auto small = prediction.wilson(4), large = prediction.wilson(8);
    CHECK(small.whole > small.computation);
    CHECK(large.whole > large.computation);
    // The surface grows slower than the volume.
    CHECK(large.whole / large.computation < small.whole / small.computation);
    Model interrupted = model;
    interrupted.link.interrupts = true;
    Prediction other(torus_of({2, 2, 2}), interrupted);
    CHECK(other.wilson(4).whole > small.computation);
}

}  // namespace predict_test
