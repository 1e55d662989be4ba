// Cables that die and come back under traffic, on the simulated transport: rounds of random shape
// and schedule. Every message must arrive, once, in order and right, and when all cables are back
// every link must be back on its own.
//
//   detour_soak [--rounds 1000] [--seed 1] [--messages 400]
//
// Exit code: 0 all was right, 1 not (the seed is printed: --seed N --rounds 1 repeats that round),
// 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>

#include "core/link/detour_round.h"
#include "core/soak.h"

using namespace torusmp::core::testing;

int main(int argc, char** argv) {
    std::uint64_t rounds = 1000, first = 1, messages = 400;
    try {
        const NumberArgument known[] = {
            {"--rounds", &rounds}, {"--seed", &first}, {"--messages", &messages}};
        read_numbers(argc, argv, known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr,
                   "detour_soak: {}\nusage: detour_soak [--rounds N] [--seed N] [--messages N]\n",
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
    fmt::print("detour_soak: {} rounds, {} cables cut, {} mended, {} messages: all arrived\n",
               rounds, sum.cuts, sum.mends, sum.messages);
    return 0;
}
