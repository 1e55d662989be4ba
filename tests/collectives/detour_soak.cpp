// SPDX-License-Identifier: BSD-3-Clause
// Cables that die and come back under collectives, on the simulated transport: the shapes, credits,
// delays and schedules of faults of core's detour_soak. Every collective must end with the right
// answer on all members, and when all cables are back every link must be back on its own.
//
//   collectives_detour_soak [FIRST [COUNT]] [--graphs 0]
//
// runs the schedules of COUNT seeds from FIRST on; with --graphs 1 on random connected graphs.
//
// Exit code: 0 success, 1 failure (the seed is printed: collectives_detour_soak SEED 1 repeats
// it), 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "collectives/detour_round.h"

using namespace torusmp::core::testing;

int main(int argc, char** argv) {
    Seeds seeds;
    std::uint64_t graphs = 0;
    try {
        std::vector<char*> rest(argv, argv + argc);
        seeds = take_seeds(rest);
        const NumberArgument known[] = {{"--graphs", &graphs, 0}};
        read_numbers(int(rest.size()), rest.data(), known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr,
                   "collectives_detour_soak: {}\nusage: collectives_detour_soak [FIRST [COUNT]] "
                   "[--graphs 1]\n",
                   error.what());
        return 2;
    }
    const Shapes shapes = graphs != 0 ? Shapes::graphs : Shapes::tori;
    return soak_detours(
        "collectives_detour_soak", seeds, "rounds of collectives", [&](std::uint64_t seed) {
            return torusmp::collectives::testing::run_collectives_among_faults(seed, shapes);
        });
}
