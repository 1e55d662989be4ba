// SPDX-License-Identifier: BSD-3-Clause
// Cables that die and come back under traffic, on the simulated transport: rounds of random shape
// and schedule. Every message must arrive, once, in order and right, and when all cables are back
// every link must be back on its own.
//
//   detour_soak [FIRST [COUNT]] [--messages 400]
//
// runs the schedules of COUNT seeds from FIRST on.
//
// Exit code: 0 all was right, 1 not (the seed is printed: detour_soak SEED 1 repeats that round),
// 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/link/detour_round.h"
#include "core/soak.h"

using namespace torusmp::core::testing;

int main(int argc, char** argv) {
    std::uint64_t first = 1, rounds = 1000, messages = 400;
    try {
        std::vector<char*> rest(argv, argv + argc);
        const std::pair<std::uint64_t*, const char*> places[] = {{&first, "FIRST"},
                                                                 {&rounds, "COUNT"}};
        for (const auto& [number, name] : places) {
            if (rest.size() < 2 || std::string_view(rest[1]).starts_with("--")) break;
            *number = whole_number(name, rest[1], 1);
            rest.erase(rest.begin() + 1);
        }
        const NumberArgument known[] = {{"--messages", &messages}};
        read_numbers(int(rest.size()), rest.data(), known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "detour_soak: {}\nusage: detour_soak [FIRST [COUNT]] [--messages N]\n",
                   error.what());
        return 2;
    }
    DetourRound sum;
    for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
        tell_on_crash("detour_soak", seed);
        const DetourRound round = run_detour_round(seed, messages);
        if (!round.failure.empty()) {
            fmt::print(stderr, "detour_soak: seed {}: {}\n{}\n", seed, round.scene, round.failure);
            return 1;
        }
        if (rounds == 1) fmt::print("seed {}: {}\n", seed, round.scene);
        sum.cuts += round.cuts;
        sum.mends += round.mends;
        sum.messages += round.messages;
    }
    fmt::print(
        "detour_soak: {} schedules from seed {} on, {} cables cut, {} mended, {} messages: all "
        "arrived\n",
        rounds, first, sum.cuts, sum.mends, sum.messages);
    return 0;
}
