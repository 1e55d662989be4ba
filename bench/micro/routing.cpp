// SPDX-License-Identifier: BSD-3-Clause
// The routing queries of a relay for each packet.
#include "routing/torus.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

using namespace torusmp;

// Every pair of the paper's machine in turn.
template <class Ask>
void for_pairs(benchmark::State& state, Ask ask) {
    const std::vector<int> dims = {4, 8, 8};
    const routing::Torus torus(dims);
    routing::Rank from = 0, to = 1;
    for (auto _ : state) {
        benchmark::DoNotOptimize(ask(torus, from, to));
        to = to + 1 < torus.size() ? to + 1 : 0;
        if (to == 0) from = from + 1 < torus.size() ? from + 1 : 0;
    }
}

void next_hop(benchmark::State& state) {
    for_pairs(state, [](const routing::Torus& torus, routing::Rank from, routing::Rank to) {
        return torus.next_hop(from, to);
    });
}

void distance(benchmark::State& state) {
    for_pairs(state, [](const routing::Torus& torus, routing::Rank from, routing::Rank to) {
        return torus.distance(from, to);
    });
}

BENCHMARK(next_hop);
BENCHMARK(distance);

}  // namespace
