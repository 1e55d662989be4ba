// SPDX-License-Identifier: BSD-3-Clause
// Shortcuts that die, cannot be made and are closed for others under traffic, on the simulated
// transport: rounds of random shape and schedule. Every message must arrive, once, in order and
// right, all credits must return, and no rank may log a message.
//
//   shortcut_soak [FIRST [COUNT]] [--messages 600]
//
// runs the schedules of COUNT seeds from FIRST on.
//
// Exit code: 0 success, 1 failure (the seed is printed: shortcut_soak SEED 1 repeats that round),
// or nothing was tried: no shortcut was lost, or none was closed for another; 2 bad arguments.

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "core/shortcut/shortcut_round.h"
#include "core/soak.h"

using namespace torusmp::core::testing;

namespace {

int soak(const Seeds& seeds, std::uint64_t messages) {
    ShortcutRound sum;
    for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        tell_on_crash("shortcut_soak", seed);
        const ShortcutRound round = run_shortcut_round(seed, messages);
        if (!round.failure.empty()) {
            fmt::print(stderr, "shortcut_soak: seed {}: {}\n{}\n", seed, round.scene,
                       round.failure);
            return 1;
        }
        if (seeds.count == 1) fmt::print("seed {}: {}\n", seed, round.scene);
        add(sum, round);
    }
    const auto& counts = sum.counts;
    fmt::print(
        "shortcut_soak: {} schedules from seed {} on, {} messages: {} shortcuts made, {} "
        "failed or lost ({} cut), {} closed for others, {} packets sent again: all well\n",
        seeds.count, seeds.first, sum.messages, counts.made, counts.failed, sum.cuts, counts.closed,
        counts.resent);
    const bool tried = counts.failed != 0 && counts.closed != 0 && counts.resent != 0;
    if (!tried && seeds.count >= 20) fmt::print(stderr, "shortcut_soak: nothing was tried\n");
    return tried || seeds.count < 20 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    Seeds seeds;
    std::uint64_t messages = 600;
    try {
        std::vector<char*> rest(argv, argv + argc);
        seeds = take_seeds(rest);
        const NumberArgument known[] = {{"--messages", &messages}};
        read_numbers(int(rest.size()), rest.data(), known);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr,
                   "shortcut_soak: {}\nusage: shortcut_soak [FIRST [COUNT]] [--messages N]\n",
                   error.what());
        return 2;
    }
    return soak(seeds, messages);
}
