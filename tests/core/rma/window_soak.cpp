// SPDX-License-Identifier: BSD-3-Clause
// Windows on the simulated transport: rounds of random shape, schedule and accesses, against a
// model of memory, while cables die and come back.
//
//   window_soak [FIRST [COUNT]] [--accesses 600] [--steady 0]
//
// runs the schedules of COUNT seeds from FIRST on; with --steady 1 all cables live.
//
// Exit code: 0 success, 1 failure (the seed is printed: window_soak SEED 1 repeats that round),
// 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "core/rma/window_round.h"

using namespace torusmp::core::testing;

int main(int argc, char** argv) {
    Seeds seeds;
    std::uint64_t accesses = 600;
    std::uint64_t steady = 0;
    try {
        std::vector<char*> rest(argv, argv + argc);
        seeds = take_seeds(rest);
        const NumberArgument known[] = {{"--accesses", &accesses}, {"--steady", &steady}};
        read_numbers(int(rest.size()), rest.data(), known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr,
                   "window_soak: {}\nusage: window_soak [FIRST [COUNT]] [--accesses N] [--steady 1]\n",
                   error.what());
        return 2;
    }
    return soak_detours("window_soak", seeds, "accesses", [&](std::uint64_t seed) {
        return run_window_round(seed, accesses, steady == 0);
    });
}
