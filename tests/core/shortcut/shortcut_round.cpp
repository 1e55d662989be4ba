// SPDX-License-Identifier: BSD-3-Clause
#include "core/shortcut/shortcut_round.h"

#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/link/detour_round.h"
#include "core/traffic.h"

namespace torusmp::core::testing {
namespace {

// A torus on which some ranks are not neighbours, with few credits and few shortcuts.
JobOptions shortcut_job(std::uint64_t seed) {
    JobOptions options = detour_job(seed);
    sim::Random random(seed ^ 0x73686f72u);
    if (options.dims == std::vector<int>{2}) options.dims = {6};
    if (random.below(2) == 0) {
        options.detour = false;
        options.world.read = random.below(2) == 0 ? sim::Remote::pending : sim::Remote::refused;
        // One end hears of a death long after the other, and still gets what was on the way.
        if (random.below(2) == 0) options.world.down_within = sim::Time(20'000'000);
    }
    options.shortcuts = 1 + int(random.below(4) * random.below(4));
    options.shortcut_after = 1 + std::uint32_t(random.below(4));
    return options;
}

// The ways of the network between ranks that are no neighbours: now and then one dies, and maybe
// comes back.
class ShortcutFaults {
  public:
    ShortcutFaults(Job& job, std::uint64_t seed) : job_(job), random_(seed) {
        for (Rank one = 0; one < job.size(); ++one)
            for (Rank other = 0; other < one; ++other)
                if (job.torus().distance(one, other) > 1) pairs_.emplace_back(one, other);
    }

    bool cut_one() {
        const auto pair = pairs_[random_.below(pairs_.size())];
        if (!job_.cut_shortcut(pair.first, pair.second)) return false;
        cut_.insert(pair);
        return true;
    }
    void mend_one() {
        if (cut_.empty()) return;
        auto it = cut_.begin();
        std::advance(it, std::ptrdiff_t(random_.below(cut_.size())));
        job_.revive_shortcut(it->first, it->second);
        cut_.erase(it);
    }
    bool any() const { return !cut_.empty(); }

  private:
    using Pair = std::pair<Rank, Rank>;

    Job& job_;
    sim::Random random_;
    std::vector<Pair> pairs_;
    std::set<Pair> cut_;
};

std::string rest_of(Job& job, const JobOptions& options) {
    if (!job.quiet()) return "something is left over";
    if (!job.credits_home()) return "credits are missing";
    if (!options.detour && !job.log().empty()) return "a rank has logged something";
    for (Rank rank = 0; rank < job.size(); ++rank)
        if (job[rank].state().shortcuts().open > std::size_t(options.shortcuts))
            return fmt::format("rank {} has more shortcuts than it may", rank);
    return {};
}

}  // namespace

ShortcutRound run_shortcut_round(std::uint64_t seed, std::uint64_t messages) {
    ShortcutRound round;
    const JobOptions options = shortcut_job(seed);
    sim::Random random(seed ^ 0x63757473u);
    TrafficOptions traffic_options;
    traffic_options.messages = round.messages = messages / 2 + random.below(messages);
    Traffic traffic(options, traffic_options);
    Job& job = traffic.job();
    ShortcutFaults shortcuts(job, random.next());
    std::optional<CableSchedule> cables;
    if (options.detour) cables.emplace(job, options, random);
    const std::uint64_t pause = std::uint64_t(job.size()) << random.below(5);
    round.scene = fmt::format("{}, {} shortcuts after {} messages, {} credits, {} messages{}",
                              job.torus().describe(), options.shortcuts, options.shortcut_after,
                              options.credits, round.messages,
                              cables ? "; " + cables->describe() : std::string());
    const auto run = [&]() -> std::string {
        while (traffic.arrived() < round.messages && traffic.failure().empty()) {
            if (random.below(pause) == 0) round.cuts += shortcuts.cut_one() ? 1 : 0;
            if (random.below(4 * pause) == 0) shortcuts.mend_one();
            if (cables)
                if (auto what = cables->before_a_turn(); !what.empty()) return what;
            if (!traffic.step()) return "nothing moves any more";
        }
        if (!traffic.failure().empty()) return "a message went wrong";
        if (cables)
            if (auto what = cables->end(); !what.empty()) return what;
        while (shortcuts.any()) shortcuts.mend_one();
        job.settle();
        return rest_of(job, options);
    };
    try {
        round.failure = run();
    } catch (const std::exception& error) {
        round.failure = error.what();
    }
    if (!round.failure.empty()) round.failure += "\n" + traffic.stuck();
    for (Rank rank = 0; rank < job.size(); ++rank) {
        const ShortcutCounts counts = job[rank].state().shortcuts();
        round.counts.open += counts.open;
        round.counts.made += counts.made;
        round.counts.failed += counts.failed;
        round.counts.closed += counts.closed;
        round.counts.resent += counts.resent;
    }
    return round;
}

void add(ShortcutRound& sum, const ShortcutRound& round) {
    sum.counts.open += round.counts.open;
    sum.counts.made += round.counts.made;
    sum.counts.failed += round.counts.failed;
    sum.counts.closed += round.counts.closed;
    sum.counts.resent += round.counts.resent;
    sum.cuts += round.cuts;
    sum.messages += round.messages;
}

}  // namespace torusmp::core::testing
