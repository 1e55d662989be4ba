// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma/window_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/rma/window_actor.h"

namespace torusmp::core::testing {
namespace {

using windows::Actor;

// Windows of one kind on all ranks. Consecutive ranks of a group map each other's memory, as ranks
// of one host do.
void make_windows(windows::World& world, int group, std::vector<std::unique_ptr<Actor>>& actors) {
    const auto count = std::size_t(world.job.size());
    for (std::size_t rank = 0; rank < count; ++rank)
        actors.push_back(std::make_unique<Actor>(world, Rank(rank)));
    for (std::size_t rank = 0; rank < count; ++rank) {
        rma::Window& window = actors[rank]->window;
        window.self = int(rank);
        window.dynamic = world.dynamic;
        window.find = windows::find;
        window.context = 77;
        window.place = std::uint32_t(rank) % std::uint32_t(group);
        window.parts.resize(count);
        if (world.dynamic)
            window.attached.emplace(world.memory[rank].data(), world.memory[rank].size());
        for (std::size_t other = 0; other < count; ++other) {
            window.members.push_back(Rank(other));
            window.parts[other].bytes = world.memory[other].size();
            if (int(other) / group != int(rank) / group) continue;
            window.parts[other].control = &actors[other]->control;
            window.mates.push_back(Rank(other));
            if (!world.dynamic || other == rank)
                window.parts[other].memory = world.memory[other].data();
        }
        world.job[Rank(rank)].windows().add(window);
    }
    for (const auto& actor : actors)
        for (std::size_t other = 0; other < count; ++other)
            actor->window.parts[other].id = actors[other]->window.id;
}

std::string check_words(windows::World& world) {
    for (std::size_t target = 0; target < world.totals.size(); ++target) {
        const windows::Totals& totals = world.totals[target];
        const auto found = [&](windows::Word word) {
            std::uint64_t value = 0;
            std::memcpy(&value, world.word(Rank(target), word), 8);
            return value;
        };
        const bool all_seen = totals.seen.size() == totals.fetches &&
                              std::all_of(totals.seen.begin(), totals.seen.end(),
                                          [](bool seen) { return seen; });
        if (found(windows::fetched) != totals.fetches || !all_seen)
            return fmt::format("rank {}: {} fetches left {}", target, totals.fetches,
                               found(windows::fetched));
        if (found(windows::summed) != totals.sum)
            return fmt::format("rank {}: found sum {}, expected {}", target, found(windows::summed),
                               totals.sum);
        if (found(windows::swapped) != totals.swaps)
            return fmt::format("rank {}: found {} swaps, expected {}", target,
                               found(windows::swapped), totals.swaps);
        if (found(windows::guarded) != totals.guarded_rounds)
            return fmt::format("rank {}: found {} rounds under the lock, expected {}", target,
                               found(windows::guarded), totals.guarded_rounds);
    }
    return {};
}

}  // namespace

DetourRound run_window_round(std::uint64_t seed, std::uint64_t accesses, bool with_cables) {
    DetourRound round;
    JobOptions options = detour_job(seed);
    if (!with_cables) options.detour = false;
    sim::Random random(seed ^ 0x77696e64u);
    std::vector<std::unique_ptr<Actor>> made;  // they outlive the job
    Job job(options);
    const std::size_t region = std::min<std::size_t>(12000, 100000 / std::size_t(job.size())) & ~7u;
    windows::World world{job, random, region, random.below(3) == 0, {}, {}, {}};
    const auto ranks = std::size_t(job.size());
    world.memory.assign(ranks, std::vector<std::byte>(windows::head_bytes + ranks * region));
    world.totals.resize(ranks);
    // Ranks that map each other's memory access one word at a time, since all ranks are one thread.
    const int group = random.below(2) == 0 ? 1 : 2;
    make_windows(world, group, made);
    CableSchedule cables(job, options, random);
    round.scene = fmt::format("{}, {} windows, groups of {}", cables.describe(),
                              world.dynamic ? "dynamic" : "plain", group);
    const auto count = [&] {
        std::uint64_t sum = 0;
        for (const auto& actor : made) sum += actor->accesses();
        return sum;
    };
    const auto idle = [&] {
        return std::all_of(made.begin(), made.end(), [](const auto& it) { return it->idle(); });
    };
    const auto run = [&]() -> std::string {
        bool stopping = false;
        for (std::uint64_t quiet_turns = 0; !stopping || !idle();) {
            if (with_cables)
                if (auto what = cables.before_a_turn(); !what.empty()) return what;
            Actor& actor = *made[random.below(made.size())];
            actor.act();
            if (!stopping && count() >= accesses) {
                stopping = true;
                quiet_turns = 0;
                for (const auto& it : made) it->stop();
            }
            if (job.turn()) {
                quiet_turns = 0;
            } else {
                for (const auto& it : made) it->act();
                if (++quiet_turns > 100 && !idle() && stopping) return "nothing moves any more";
            }
            if (!world.failure.empty()) return world.failure;
        }
        if (auto what = check_words(world); !what.empty()) return what;
        for (const auto& actor : made) actor->check_regions();
        if (!world.failure.empty()) return world.failure;
        return with_cables ? cables.end() : std::string();
    };
    try {
        round.failure = run();
        if (!round.failure.empty()) round.failure += "\n" + job.report();
    } catch (const std::exception& error) {
        round.failure = error.what();
    }
    round.messages = count();
    round.cuts = cables.cuts();
    round.mends = cables.mends();
    return round;
}

}  // namespace torusmp::core::testing
