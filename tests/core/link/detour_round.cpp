// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/detour_round.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <numeric>
#include <vector>

#include "core/link/cable_faults.h"
#include "core/link/retained.h"
#include "core/traffic.h"

namespace torusmp::core::testing {
namespace {

struct Shape {
    std::vector<int> dims;
    std::vector<bool> periodic;
};

JobOptions job_of(std::uint64_t seed) {
    static const std::vector<Shape> shapes{{{2, 2, 2}, {}},
                                           {{3, 3, 2}, {}},
                                           {{4, 4}, {}},
                                           {{4, 3}, {false, false}},
                                           {{5}, {}},
                                           {{2}, {}},
                                           {{3, 2, 2}, {true, false, true}},
                                           {{4, 4, 4}, {}},
                                           {{2, 2}, {}},
                                           {{3, 3}, {false, true}}};
    sim::Random random(seed);
    const Shape& shape = shapes[random.below(shapes.size())];
    JobOptions options;
    options.dims = shape.dims;
    options.periodic = shape.periodic;
    options.seed = seed;
    options.eager_limit = random.below(2) == 0 ? 512 : 3000;
    options.credits = 2 + int(random.below(3) * random.below(3));
    options.relay_credits = 2 + int(random.below(3));
    options.detour = true;
    // Of a large torus that is cut all the time the ranks would not agree on one state before the
    // next, so that nothing but the hold-down ends this.
    static constexpr std::int64_t hold_downs[] = {20'000, 300'000, 3'000'000};
    const std::size_t big =
        std::accumulate(shape.dims.begin(), shape.dims.end(), 1, std::multiplies<>()) > 32;
    options.hold_down = sim::Time(hold_downs[big ? 2 : random.below(3)]);
    options.world.read = sim::Remote::refused;
    options.world.notifies = random.below(3) != 0;
    // Without notices the cable itself says that a write is complete.
    options.world.write = options.world.notifies || random.below(2) == 0 ? sim::Remote::pending
                                                                         : sim::Remote::refused;
    options.world.places = random.below(3) == 0;
    options.world.down_within = sim::Time(random.below(2) == 0 ? 1'000'000 : 20'000);
    if (random.below(3) == 0) options.world.packet.straggling = 0.02;
    options.world.packet.straggle = sim::Time(300'000);
    options.link_transports = random.below(4) == 0 ? 2 : 0;
    return options;
}

// What link ends keep has its bounds at any time, and nothing is left of it in the end.
std::string kept_too_much(Job& job, const JobOptions& options, bool at_the_end) {
    const std::size_t links = 2 * std::size_t(job.torus().dimensions());
    const std::size_t most_packets =
        links *
        std::size_t(options.credits + (job.torus().dimensions() - 1) * options.relay_credits);
    const std::size_t most_news = links * links / 2 * std::size_t(job.size());
    const std::size_t most_bytes =
        most_packets * (sizeof(Retained::Packet) + job[0].options().body() + 128);
    for (Rank rank = 0; rank < job.size(); ++rank) {
        const LinkHoldings it = job[rank].state().link_holdings();
        const bool little = it.packets <= most_packets && it.held <= most_packets &&
                            it.news <= most_news && it.setups <= 2 * most_news &&
                            it.bytes <= most_bytes;
        const bool nothing = it.held + it.writes + it.news + it.setups == 0;
        if (!little || (at_the_end && !nothing))
            return fmt::format(
                "rank {} keeps {} packets, {} held, {} writes, {} news, {} setups, {} B", rank,
                it.packets, it.held, it.writes, it.news, it.setups, it.bytes);
    }
    return {};
}

}  // namespace

DetourRound run_detour_round(std::uint64_t seed, std::uint64_t messages) {
    DetourRound round;
    const JobOptions options = job_of(seed);
    sim::Random random(seed ^ 0x64657461u);
    TrafficOptions traffic_options;
    traffic_options.messages = round.messages = messages / 2 + random.below(messages);
    Traffic traffic(options, traffic_options);
    Job& job = traffic.job();
    CableFaults cables(job, random.next());
    // Turns: at the least so many that now and then all hear of one change before the next.
    const std::uint64_t pause = std::uint64_t(job.size()) << (2 + random.below(6));
    const std::uint64_t cuts_of_ten = 2 + random.below(7);
    round.scene = fmt::format(
        "{}, {} and {} credits, eager below {}, {} messages, a cable every {} turns, {} of 10 cut",
        job.torus().describe(), options.credits, options.relay_credits, options.eager_limit,
        round.messages, pause, cuts_of_ten);
    const auto fail = [&](const std::string& what) {
        round.failure = fmt::format("{}\n{}", what, traffic.stuck());
        return round;
    };
    try {
        while (traffic.arrived() < round.messages && traffic.failure().empty()) {
            if (random.below(pause) == 0) {
                if (random.below(10) < cuts_of_ten)
                    round.cuts += cables.cut_one();
                else
                    round.mends += cables.mend_one();
                if (auto what = kept_too_much(job, options, false); !what.empty())
                    return fail(what);
            }
            if (!traffic.step()) return fail("nothing moves any more");
        }
        if (!traffic.failure().empty()) return fail("a message went wrong");
        job.settle();
        if (!job.quiet()) return fail("something is left over");
        if (!job.credits_home()) return fail("credits are missing on detours");
        while (cables.any()) {
            round.mends += cables.mend_one();
            if (random.below(2) == 0) job.settle();
        }
        job.settle();
        if (!job.on_cables()) return fail("a link is not back on its cable");
        if (!job.quiet() || !job.credits_home()) return fail("credits are missing on cables");
        if (auto what = kept_too_much(job, options, true); !what.empty()) return fail(what);
    } catch (const std::exception& error) {
        return fail(error.what());
    }
    return round;
}

}  // namespace torusmp::core::testing
