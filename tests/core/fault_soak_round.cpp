// SPDX-License-Identifier: BSD-3-Clause
#include "fault_soak_round.h"

#include <fmt/format.h>

#include <exception>
#include <numeric>

#include "fault_soak_damage.h"
#include "fault_soak_judge.h"
#include "fault_soak_scene.h"
#include "fault_soak_traffic.h"

namespace torusmp::core::testing {

namespace fault_soak {
namespace {

// Virtual time from the last fault until the last request has ended. Messages take microseconds, a
// link is known to be dead after at most one millisecond, a slowed link takes up to two.
constexpr double most_milliseconds = 1000;

class Round {
  public:
    explicit Round(std::uint64_t seed) : scene_(seed) { traffic_.plan(damage_); }
    RoundResult run();

  private:
    Traffic traffic_{scene_};  // first: outlives the job in the scene
    Scene scene_;
    Damage damage_{scene_};
};

RoundResult Round::run() try {
    const auto faults = 1 + scene_.random.below(4);
    const std::size_t span = traffic_.messages().size() * 4 / faults;
    for (std::uint64_t n = 0; n < faults; ++n) {
        // Now and then several at the same moment.
        const auto steps = scene_.random.below(4) == 0 ? 0 : scene_.random.below(span + 1);
        for (auto left = steps; left > 0; --left) {
            traffic_.step();
            damage_.attack();
        }
        damage_.strike();
    }
    while (!traffic_.all_begun()) {
        traffic_.step();
        damage_.attack();
    }
    for (int n = 0; n < 30; ++n) {
        scene_.turn();
        damage_.attack();
    }
    damage_.end_captured();
    traffic_.settle();
    traffic_.close();
    traffic_.settle();
    scene_.result.slowest_ms =
        double((scene_.job->world().now() - damage_.last_fault()).count()) / 1e6;
    if (scene_.result.count() != 0 && scene_.result.slowest_ms > most_milliseconds)
        scene_.bad(
            fmt::format("the last request ended {:.0f} ms after the last fault, expected {:.0f}",
                        scene_.result.slowest_ms, most_milliseconds));
    Judge judge(scene_, damage_, traffic_);
    judge.all();
    if (scene_.result.failure.empty()) {
        judge.exchange_afterwards();
        judge.what_is_left();
    }
    if (!scene_.result.failure.empty())
        scene_.result.failure += fmt::format("\n{}", scene_.job->report());
    return scene_.result;
} catch (const std::exception& error) {
    scene_.bad(error.what());
    scene_.result.failure += fmt::format("\n{}", scene_.job->report());
    return scene_.result;
}

}  // namespace
}  // namespace fault_soak

std::string_view describe(Fault fault) {
    switch (fault) {
        case Fault::rank_killed:
            return "ranks killed";
        case Fault::link_cut:
            return "links cut";
        case Fault::rank_captured:
            return "ranks captured";
        case Fault::link_slowed:
            return "links slowed";
    }
    return "";
}

std::uint64_t RoundResult::count() const {
    return std::accumulate(faults.begin(), faults.end(), std::uint64_t{0});
}

RoundResult run_fault_round(std::uint64_t seed) {
    return fault_soak::Round(seed).run();
}

}  // namespace torusmp::core::testing
