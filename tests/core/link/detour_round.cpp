#include "core/link/detour_round.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <numeric>
#include <vector>

#include "core/link/cable_faults.h"
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
    options.world.write = options.world.notifies ? sim::Remote::pending : sim::Remote::refused;
    options.world.down_within = sim::Time(random.below(2) == 0 ? 1'000'000 : 20'000);
    if (random.below(3) == 0) options.world.packet.straggling = 0.02;
    options.world.packet.straggle = sim::Time(300'000);
    options.link_transports = random.below(4) == 0 ? 2 : 0;
    return options;
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
    } catch (const std::exception& error) {
        return fail(error.what());
    }
    return round;
}

}  // namespace torusmp::core::testing
