// SPDX-License-Identifier: BSD-3-Clause
// Cables that die and come back under traffic, on the simulated transport: rounds of random shape
// and schedule. Every message must arrive, once, in order and right, and when all cables are back
// every link must be back on its own.
//
//   detour_soak [FIRST [COUNT]] [--messages 400] [--graphs 0]
//
// runs the schedules of COUNT seeds from FIRST on; with --graphs 1 on random connected graphs.
//
// Exit code: 0 success, 1 failure (the seed is printed: detour_soak SEED 1 repeats that round),
// 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "core/link/detour_round.h"

using namespace torusmp::core::testing;

int main(int argc, char** argv) {
    Seeds seeds;
    std::uint64_t messages = 400, graphs = 0;
    try {
        std::vector<char*> rest(argv, argv + argc);
        seeds = take_seeds(rest);
        const NumberArgument known[] = {{"--messages", &messages}, {"--graphs", &graphs, 0}};
        read_numbers(int(rest.size()), rest.data(), known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "detour_soak: {}\nusage: detour_soak [FIRST [COUNT]] [--messages N] "
                   "[--graphs 1]\n",
                   error.what());
        return 2;
    }
    const Shapes shapes = graphs != 0 ? Shapes::graphs : Shapes::tori;
    return soak_detours("detour_soak", seeds, "messages", [&](std::uint64_t seed) {
        return run_detour_round(seed, messages, shapes);
    });
}
