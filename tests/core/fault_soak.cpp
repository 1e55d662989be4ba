// SPDX-License-Identifier: BSD-3-Clause
// Random faults in sequence on the simulated transport: jobs of random shape and traffic in which
// ranks die, links are cut or slowed, and captured ranks send arbitrary packets. Every request of
// every rank that is left must end, with success or the right error.
//
//   fault_soak [--faults 10000] [--seed 1] [--rounds N]
//
// Environment: FAULT_SOAK_FAULTS is the default of --faults. Exit code: 0 success, 1 failure (the
// seed is printed: --seed N --rounds 1 repeats that round), 2 bad arguments.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "fault_soak_round.h"
#include "soak.h"

using namespace torusmp::core::testing;

namespace {

struct Arguments {
    std::uint64_t faults = 10'000;
    std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t seed = 1;
};

constexpr const char* usage =
    "usage: fault_soak [--faults N] [--seed N] [--rounds N]\n"
    "  --faults N   how many faults; default FAULT_SOAK_FAULTS or 10000\n"
    "  --seed N     of the first round; each round takes the next\n"
    "  --rounds N   at most so many rounds: 1 repeats one\n"
    "example: fault_soak --seed 4711 --rounds 1\n";

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    if (const char* faults = std::getenv("FAULT_SOAK_FAULTS"))
        arguments.faults = whole_number("FAULT_SOAK_FAULTS", faults, 1);
    const NumberArgument known[] = {{"--faults", &arguments.faults},
                                    {"--seed", &arguments.seed},
                                    {"--rounds", &arguments.rounds}};
    read_numbers(argc, argv, known);
    return arguments;
}

struct Totals {
    RoundResult sum;
    std::uint64_t rounds = 0;
    std::uint64_t faults = 0;

    void add(const RoundResult& round) {
        ++rounds;
        faults += round.count();
        for (std::size_t kind = 0; kind < fault_kinds; ++kind)
            sum.faults[kind] += round.faults[kind];
        sum.hostile_packets += round.hostile_packets;
        sum.requests += round.requests;
        sum.unreachable += round.unreachable;
        sum.protocol += round.protocol;
        sum.cancelled += round.cancelled;
        sum.slowest_ms = std::max(sum.slowest_ms, round.slowest_ms);
    }
};

void print(const Totals& totals, double seconds) {
    const RoundResult& sum = totals.sum;
    fmt::print("fault_soak: {} faults in {} jobs, {:.1f} s:", totals.faults, totals.rounds,
               seconds);
    for (std::size_t kind = 0; kind < fault_kinds; ++kind)
        fmt::print("{} {} {}", kind == 0 ? "" : ",", sum.faults[kind], describe(Fault(kind)));
    fmt::print(
        "\n  {} requests ended: {} unreachable, {} broken protocol, {} cancelled, the others well\n"
        "  {} hostile packets; the last end came at most {:.1f} ms (virtual) after the last "
        "fault\n",
        sum.requests, sum.unreachable, sum.protocol, sum.cancelled, sum.hostile_packets,
        sum.slowest_ms);
}

int soak(const Arguments& arguments) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto began = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    Totals totals;
    for (std::uint64_t seed = arguments.seed;
         totals.faults < arguments.faults && totals.rounds < arguments.rounds; ++seed) {
        tell_on_crash("fault_soak", seed);
        const RoundResult round = run_fault_round(seed);
        totals.add(round);
        if (!round.failure.empty()) {
            fmt::print(stderr, "{}fault_soak: seed {}: {}\n{}\n", terminal ? "\r\033[K" : "", seed,
                       round.scene, round.failure);
            return 1;
        }
        if (arguments.rounds == 1) fmt::print("seed {}: {}\n", seed, round.scene);
        if (terminal && totals.rounds % 64 == 0)
            fmt::print(stderr, "\r{} of {} faults, {:.1f} s", totals.faults, arguments.faults,
                       seconds());
    }
    if (terminal) fmt::print(stderr, "\r\033[K");
    print(totals, seconds());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::optional<Arguments> arguments;
    try {
        arguments = parse(argc, argv);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "fault_soak: {}\n{}", error.what(), usage);
        return 2;
    }
    return soak(*arguments);
}
