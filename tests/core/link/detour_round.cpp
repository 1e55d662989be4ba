// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/detour_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "core/link/retained.h"
#include "core/traffic.h"

namespace torusmp::core::testing {
namespace {

struct Shape {
    std::vector<int> dims;
    std::vector<bool> periodic;
};

// The memory of link ends has bounds at any time, and nothing is kept in the end.
std::string kept_too_much(Job& job, const JobOptions& options, bool at_the_end) {
    const std::size_t links = 2 * std::size_t(job.torus().link_dimensions());
    const std::size_t most_packets =
        links *
        std::size_t(options.credits + (job.torus().virtual_channels() - 1) * options.relay_credits);
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

// A tree, between a star and a line, and further cables, some of them parallel.
class GraphMaker {
  public:
    explicit GraphMaker(std::uint64_t seed) : random_(seed) {
        const std::uint64_t reach = 1 + random_.below(size_);
        for (Rank rank = 1; rank < Rank(size_); ++rank)
            while (!add(rank, rank - 1 - Rank(random_.below(std::min<std::uint64_t>(reach, rank)))))
                continue;
        const int usual = 3 + int(random_.below(6));  // cables of a rank
        for (std::uint64_t more = random_.below(2 * size_); more > 0; --more) {
            const Rank a = Rank(random_.below(size_)), b = Rank(random_.below(size_));
            if (cables_of(a) < usual && cables_of(b) < usual) add(a, b);
        }
    }
    // Now and then as if there were too few virtual channels for shortest paths.
    std::shared_ptr<const routing::Graph> graph() {
        const int channels = random_.below(4) == 0 ? 1 : routing::max_dimensions;
        return std::make_shared<const routing::Graph>(
            int(size_), routing::assign_directions(int(size_), cables_), channels);
    }

  private:
    int cables_of(Rank rank) const {
        return int(std::count_if(cables_.begin(), cables_.end(), [&](const auto& cable) {
            return cable.first == rank || cable.second == rank;
        }));
    }
    bool add(Rank a, Rank b) {
        constexpr int most = 2 * routing::max_dimensions;
        if (a == b || cables_of(a) >= most || cables_of(b) >= most) return false;
        cables_.push_back({a, b});
        return true;
    }

    sim::Random random_;
    const std::uint64_t size_ = 2 + random_.below(31);
    std::vector<std::pair<Rank, Rank>> cables_;
};

}  // namespace

std::shared_ptr<const routing::Graph> random_graph(std::uint64_t seed) {
    return GraphMaker(seed).graph();
}

JobOptions detour_job(std::uint64_t seed, Shapes which) {
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
    if (which == Shapes::graphs) options.graph = random_graph(seed);
    options.seed = seed;
    options.eager_limit = random.below(2) == 0 ? 512 : 3000;
    options.credits = 2 + int(random.below(3) * random.below(3));
    options.relay_credits = 2 + int(random.below(3));
    options.detour = true;
    // The ranks of a large torus with constant cuts would not agree on one state before the next.
    // Only the hold-down ends this.
    static constexpr std::int64_t hold_downs[] = {20'000, 300'000, 3'000'000};
    const bool big = torus_of(options).size() > (options.graph ? 16 : 32);
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

CableSchedule::CableSchedule(Job& job, const JobOptions& options, sim::Random& random,
                             std::uint64_t seldom)
    : job_(job),
      options_(options),
      random_(random),
      cables_(job, random.next()),
      pause_(std::uint64_t(job.size()) << (seldom + random.below(8 - seldom))),
      cuts_of_ten_(2 + random.below(7)) {}

std::string CableSchedule::describe() const {
    return fmt::format(
        "{}, {} and {} credits, eager below {}, a cable every {} turns, {} of 10 cut",
        job_.torus().describe(), options_.credits, options_.relay_credits, options_.eager_limit,
        pause_, cuts_of_ten_);
}

std::string CableSchedule::before_a_turn() {
    if (random_.below(pause_) != 0) return {};
    if (random_.below(10) < cuts_of_ten_)
        cuts_ += cables_.cut_one();
    else
        mends_ += cables_.mend_one();
    return kept_too_much(job_, options_, false);
}

std::string CableSchedule::end() {
    job_.settle();
    if (!job_.quiet()) return "something is left over";
    if (!job_.credits_home()) return "credits are missing on detours";
    while (cables_.any()) {
        mends_ += cables_.mend_one();
        if (random_.below(2) == 0) job_.settle();
    }
    job_.settle();
    if (!job_.on_cables()) return "a link is not back on its cable";
    if (!job_.quiet() || !job_.credits_home()) return "credits are missing on cables";
    return kept_too_much(job_, options_, true);
}

DetourRound run_detour_round(std::uint64_t seed, std::uint64_t messages, Shapes shapes) {
    DetourRound round;
    const JobOptions options = detour_job(seed, shapes);
    sim::Random random(seed ^ 0x64657461u);
    TrafficOptions traffic_options;
    traffic_options.messages = round.messages = messages / 2 + random.below(messages);
    Traffic traffic(options, traffic_options);
    CableSchedule cables(traffic.job(), options, random);
    round.scene = fmt::format("{}, {} messages", cables.describe(), round.messages);
    const auto run = [&]() -> std::string {
        while (traffic.arrived() < round.messages && traffic.failure().empty()) {
            if (auto what = cables.before_a_turn(); !what.empty()) return what;
            if (!traffic.step()) return "nothing moves any more";
        }
        if (!traffic.failure().empty()) return "a message went wrong";
        return cables.end();
    };
    std::string what;
    try {
        what = run();
    } catch (const std::exception& error) {
        what = error.what();
    }
    if (!what.empty()) round.failure = fmt::format("{}\n{}", what, traffic.stuck());
    round.cuts = cables.cuts();
    round.mends = cables.mends();
    return round;
}

int soak_detours(const char* program, const Seeds& seeds, const char* what,
                 const std::function<DetourRound(std::uint64_t seed)>& run) {
    DetourRound sum;
    for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        tell_on_crash(program, seed);
        const DetourRound round = run(seed);
        if (!round.failure.empty()) {
            fmt::print(stderr, "{}: seed {}: {}\n{}\n", program, seed, round.scene, round.failure);
            return 1;
        }
        if (seeds.count == 1) fmt::print("seed {}: {}\n", seed, round.scene);
        sum.cuts += round.cuts;
        sum.mends += round.mends;
        sum.messages += round.messages;
    }
    fmt::print("{}: {} schedules from seed {} on, {} cables cut, {} mended, {} {}: all well\n",
               program, seeds.count, seeds.first, sum.cuts, sum.mends, sum.messages, what);
    return 0;
}

}  // namespace torusmp::core::testing
