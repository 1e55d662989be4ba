// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <stdexcept>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "config/options.h"

namespace torusmp::bench {
namespace {

int neighbour_of_first(const routing::Torus& torus) {
    for (int d = torus.dimensions() - 1; d >= 0; --d)
        if (const auto next = torus.neighbour(0, {d, +1})) return *next;
    throw std::runtime_error("one rank has no partner: start at least two, for example with -np 2");
}

}  // namespace

Pair choose_pair(const Context& context) {
    const int neighbour = neighbour_of_first(context.torus);
    const int partner = context.options.peer.value_or(neighbour);
    if (partner >= ranks())
        throw config::UsageError(
            fmt::format("--peer {}: expected a rank from 1 to {}", partner, ranks() - 1));
    return pair_with(context, partner);
}

Pair pair_with(const Context& context, int partner) {
    Pair pair;
    pair.partner = partner;
    pair.hops = context.torus.distance(0, pair.partner);
    if (rank() == 0) pair.role = 0, pair.other = pair.partner;
    if (rank() == pair.partner) pair.role = 1, pair.other = 0;
    return pair;
}

std::string describe(const Pair& pair) {
    return fmt::format("ranks 0 and {} ({} hop{})", pair.partner, pair.hops,
                       pair.hops == 1 ? "" : "s");
}

std::function<void(long)> round_trips(const Pair& pair, Channel* send, Channel* receive) {
    if (pair.role < 0) return [](long) {};
    if (pair.role == 0)
        return [=](long times) {
            for (long i = 0; i < times; ++i) {
                receive->start();
                send->start();
                send->wait();
                receive->wait();
            }
        };
    return [=](long times) {
        receive->start();
        for (long i = 0; i < times; ++i) {
            receive->wait();
            // Before the answer, so that the next message finds its receive.
            if (i + 1 < times) receive->start();
            send->start();
            send->wait();
        }
    };
}

}  // namespace torusmp::bench
