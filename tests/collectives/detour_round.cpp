// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/detour_round.h"

#include <exception>

#include "collectives/soak_round.h"

namespace torusmp::collectives::testing {
namespace {

constexpr std::uint64_t most_tasks = 6;
// The least size of a large torus. A collective of all its ranks takes so long that cables cut all
// the time would delay it by minutes.
constexpr int large = 32;

}  // namespace

core::testing::DetourRound run_collectives_among_faults(std::uint64_t seed,
                                                        core::testing::Shapes shapes) {
    const JobOptions options = core::testing::detour_job(seed, shapes);
    Random random(seed ^ 0x636f6c6cu);
    std::vector<Team> teams = random_teams(core::testing::torus_of(options), random);
    Job job(options);
    core::testing::CableSchedule cables(job, options, random, job.size() > large ? 4 : 2);
    core::testing::DetourRound round;
    round.scene = cables.describe();
    for (std::size_t i = 0; i < teams.size(); ++i) teams[i].sign_on(job, core::Context(10 + i));
    std::string kept;
    const auto turn = [&] {
        kept = cables.before_a_turn();
        return kept.empty() && job.turn();
    };
    try {
        for (int left = job.size() > large ? 2 : 5; left > 0 && round.failure.empty();
             --left, ++round.messages)
            round.failure = check_round(job, teams, random, most_tasks, turn) + kept;
        if (round.failure.empty()) round.failure = cables.end();
    } catch (const std::exception& error) {
        round.failure = error.what();
    }
    if (!round.failure.empty()) round.failure += "\n" + job.report();
    round.cuts = cables.cuts();
    round.mends = cables.mends();
    return round;
}

}  // namespace torusmp::collectives::testing
