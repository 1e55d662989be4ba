// SPDX-License-Identifier: BSD-3-Clause
// Random collectives in sequence and at once, on random groups of a torus of simulated ranks with
// two credits per virtual channel and random delays, on 4x8x8 ranks: all must end with the right
// answers, and all credits must return. With --kills each round, on 3x4x4, also kills a rank in the
// middle; then every other member's call must end, and those that fail must name the dead rank. No
// job leaves memory behind.
//
//   collectives_soak [--rounds 10000] [--seed 1] [--kills 0]
//
// Environment: COLLECTIVES_SOAK_ROUNDS is the default of --rounds. Exit code: 0 success, 1 failure
// (the seed is printed: --seed N --rounds M repeats), 2 bad arguments.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "collectives/soak_round.h"
#include "core/soak.h"

using namespace torusmp;
using namespace torusmp::collectives::testing;
using core::Rank;
using core::testing::JobOptions;

namespace {

struct Arguments {
    std::uint64_t rounds = 10'000;
    std::uint64_t seed = 1;
    std::uint64_t kills = 0;
};

constexpr const char* usage =
    "usage: collectives_soak [--rounds N] [--seed N] [--kills 1]\n"
    "  --rounds N   how many rounds; default COLLECTIVES_SOAK_ROUNDS or 10000\n"
    "  --seed N     of the first job; each job takes the next\n"
    "  --kills 1    kill a rank in every round\n"
    "example: collectives_soak --rounds 200 --seed 4711\n";

// A job lasts for so many rounds, so that schedules are reused.
constexpr std::uint64_t rounds_of_job = 40;
// Nothing of a job stays behind; this allows for what the heap keeps for itself.
constexpr std::size_t most_growth = 4 << 20;  // bytes

JobOptions options_of(std::uint64_t seed, std::vector<int> dims, Random& random) {
    using core::testing::sim::Time;
    JobOptions options;
    options.dims = std::move(dims);
    options.seed = seed;
    options.credits = options.relay_credits = 2;
    options.direct = random.below(4) == 0;
    options.world.mapped = random.below(2) == 0;  // direct: groups have areas
    options.world.all_mapped = options.world.mapped && random.below(2) == 0;
    if (random.below(3) == 0) options.periodic = {random.below(2) == 0, true, random.below(2) == 0};
    options.world.packet = {Time(1000), Time(std::int64_t(2000 + random.below(100'000)))};
    if (random.below(2) == 0) {
        options.world.packet.straggling = 0.01;
        options.world.packet.straggle = Time(2'000'000);
    }
    return options;
}

struct Outcome {
    std::string failure;
    std::uint64_t rounds = 0;
    std::uint64_t packets = 0;
};

Outcome run_job(std::uint64_t seed, std::uint64_t rounds) {
    Random random(seed);
    const JobOptions options = options_of(seed, {4, 8, 8}, random);
    std::vector<Team> teams = random_teams(routing::Torus(options.dims, options.periodic), random);
    Outcome outcome;
    Job job(options);
    for (std::size_t i = 0; i < teams.size(); ++i) teams[i].sign_on(job, core::Context(10 + i));
    for (; outcome.rounds < rounds && outcome.failure.empty(); ++outcome.rounds)
        if (const std::string wrong = check_round(job, teams, random, 4); !wrong.empty())
            outcome.failure =
                fmt::format("round {} of the job on {}{}:\n{}", outcome.rounds + 1,
                            job.torus().describe(), options.direct ? ", direct" : "", wrong);
    if (outcome.failure.empty()) {
        job.settle();
        if (!job.credits_home() || !job.quiet())
            outcome.failure =
                "credits are missing, or something is still on its way:\n" + job.report();
    }
    outcome.packets = job.world().counters().packets;
    return outcome;
}

// A round in which a rank dies. Every call of every other member must end.
Outcome run_killing_job(std::uint64_t seed) {
    Random random(seed);
    const JobOptions options = options_of(seed, {3, 4, 4}, random);
    std::vector<Team> teams = random_teams(routing::Torus(options.dims, options.periodic), random);
    Outcome outcome{.failure = {}, .rounds = 1};
    Tasks tasks;
    Job job(options);
    for (std::size_t i = 0; i < teams.size(); ++i) teams[i].sign_on(job, core::Context(10 + i));
    tasks = random_tasks(teams, random, 4);
    Round round(job, tasks, random);
    round.start_some(random.below(8000));
    const auto& first = tasks[0]->team().members;
    const Rank victim = first[std::size_t(random.below(first.size()))];
    job.kill(victim);
    round.start_all();
    std::string wrong;
    if (!round.finish()) wrong = "some calls never end:\n" + job.report();
    for (const auto& call : round.calls()) {
        const auto error = call.schedule().error();
        if (!wrong.empty() || !job.alive(call.rank()) || error == core::Error::none) continue;
        const auto& members = call.task->team().members;
        const bool among = std::find(members.begin(), members.end(), victim) != members.end();
        if (error != core::Error::unreachable)
            wrong += fmt::format("rank {}: {}\n", call.rank(), call.schedule().failure());
        else if (among && call.schedule().failed_peer() != victim)
            wrong += fmt::format("rank {} names rank {}, not {}\n", call.rank(),
                                 call.schedule().failed_peer(), victim);
    }
    if (!wrong.empty())
        outcome.failure = fmt::format("{}rank {} was killed:\n{}", describe(tasks), victim, wrong);
    outcome.packets = job.world().counters().packets;
    return outcome;
}

// Bytes that the program has allocated: between jobs nothing but what the library keeps.
std::size_t bytes_in_use() {
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

// In MiB, since the program began.
long most_memory() {
    struct rusage used {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss / 1024;
}

int soak(const Arguments& arguments) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto began = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    std::uint64_t rounds = 0;
    std::uint64_t packets = 0;
    std::uint64_t seed = arguments.seed;
    std::size_t in_use = 0;  // after the first job
    for (; rounds < arguments.rounds; ++seed) {
        core::testing::tell_on_crash("collectives_soak", seed);
        const Outcome outcome =
            arguments.kills != 0
                ? run_killing_job(seed)
                : run_job(seed, std::min(rounds_of_job, arguments.rounds - rounds));
        rounds += outcome.rounds;
        packets += outcome.packets;
        // Jobs differ much in what they need, and the next one is to reuse what this one has left.
        malloc_trim(0);
        if (in_use == 0) in_use = bytes_in_use();
        if (outcome.failure.empty() && bytes_in_use() > in_use + most_growth) {
            fmt::print(stderr,
                       "{}collectives_soak: seed {}: {} bytes are in use after the job, {} "
                       "after the first\n",
                       terminal ? "\r\033[K" : "", seed, bytes_in_use(), in_use);
            return 1;
        }
        if (!outcome.failure.empty()) {
            fmt::print(stderr, "{}collectives_soak: seed {}: {}\n", terminal ? "\r\033[K" : "",
                       seed, outcome.failure);
            return 1;
        }
        if (terminal)
            fmt::print(stderr, "\r{} of {} rounds, {:.1f} s", rounds, arguments.rounds, seconds());
    }
    if (terminal) fmt::print(stderr, "\r\033[K");
    fmt::print(
        "collectives_soak: {} rounds on {}, seeds {} to {}, {} packets, {:.1f} s, at most {} MiB, "
        "{} KiB left\n",
        rounds, arguments.kills != 0 ? "3x4x4, one killed in each" : "4x8x8", arguments.seed,
        seed - 1, packets, seconds(), most_memory(), in_use / 1024);
    return 0;
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    if (const char* rounds = std::getenv("COLLECTIVES_SOAK_ROUNDS"))
        arguments.rounds = core::testing::whole_number("COLLECTIVES_SOAK_ROUNDS", rounds, 1);
    const core::testing::NumberArgument known[] = {{"--rounds", &arguments.rounds},
                                                   {"--seed", &arguments.seed},
                                                   {"--kills", &arguments.kills, 0}};
    core::testing::read_numbers(argc, argv, known);
    return arguments;
}

}  // namespace

int main(int argc, char** argv) {
    std::optional<Arguments> arguments;
    try {
        arguments = parse(argc, argv);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "collectives_soak: {}\n{}", error.what(), usage);
        return 2;
    }
    return soak(*arguments);
}
