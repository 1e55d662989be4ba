// SPDX-License-Identifier: BSD-3-Clause
#include "fault_soak_scene.h"

#include <algorithm>
#include <stdexcept>

namespace torusmp::core::testing::fault_soak {

namespace {

// Far more turns than any round needs: a round that is not done by then never ends.
constexpr std::uint64_t most_turns = 3'000'000;

JobOptions random_job(std::uint64_t seed, sim::Random& random) {
    JobOptions options;
    options.seed = seed;
    const auto dimensions = 1 + random.below(3);
    const int most = dimensions == 1 ? 9 : dimensions == 2 ? 4 : 3;
    options.dims.clear();
    for (std::uint64_t d = 0; d < dimensions; ++d) {
        // Size 2 is special in a torus, two links to one neighbour; size 1 has none.
        const auto kind = random.below(10);
        options.dims.push_back(kind < 4 ? 2 : kind == 4 ? 1 : int(random.between(2, most)));
        options.periodic.push_back(random.below(4) != 0);
    }
    if (std::all_of(options.dims.begin(), options.dims.end(), [](int n) { return n == 1; }))
        options.dims[0] = 2 + int(random.below(4));
    options.direct = random.below(4) == 0;
    options.world.mapped = options.world.all_mapped = options.direct && seed % 2 == 0;
    options.eager_limit = 128u << random.below(5);
    options.credits = int(random.below(2) == 0 ? 2 : 2 + random.below(7));
    options.relay_credits = int(random.below(2) == 0 ? 2 : 2 + random.below(3));
    options.world.write = sim::Remote(random.below(4));
    options.world.read = sim::Remote(random.below(4));
    options.world.places = random.below(2) == 0;
    options.link_transports = int(random.below(3));
    if (random.below(3) == 0)
        options.world.packet = {sim::Time(500), sim::Time(4000), 0.02, sim::Time(100'000)};
    return options;
}

}  // namespace

Scene::Scene(std::uint64_t round_seed) : seed(round_seed), random(round_seed * 7 + 3) {
    const JobOptions options = random_job(seed, random);
    direct = options.direct;
    eager_limit = options.eager_limit;
    job = std::make_unique<Job>(options);
    result.scene =
        fmt::format("torus {}{}, eager limit {}, credits {} and {}, write {}, read {}",
                    job->torus().describe(), direct ? ", direct" : "", eager_limit, options.credits,
                    options.relay_credits, int(options.world.write), int(options.world.read));
}

bool Scene::turn() {
    const bool moved = job->turn();
    if (moved && ++turns > most_turns)
        throw std::runtime_error(fmt::format("still moving after {} turns", turns));
    return moved;
}

void Scene::bad(const std::string& what) {
    if (result.failure.empty()) result.failure = what;
}

}  // namespace torusmp::core::testing::fault_soak
