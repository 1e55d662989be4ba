// SPDX-License-Identifier: BSD-3-Clause
// Collectives whose links lose their cables: the same results, to the bit.

#include <catch2/catch.hpp>
#include <cstring>

#include "collectives/simulated_group.h"
#include "core/link/cable_faults.h"

namespace detour_test {

using namespace torusmp;
using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using core::Rank;
using core::testing::CableFaults;
namespace sim = core::testing::sim;

namespace {

JobOptions torus(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options = job_of(std::move(dims), false, seed);
    options.credits = options.relay_credits = 2;
    options.detour = true;
    options.world.read = sim::Remote::refused;
    options.world.notifies = true;
    return options;
}

// Turns of the job with a cut or a repair now and then, until done().
template <class Done>
bool run_among_faults(Job& job, CableFaults& cables, Done&& done) {
    while (!done()) {
        cables.happen();
        if (!job.turn()) return done();
    }
    return true;
}

std::vector<float> sum_of(const JobOptions& options, std::size_t count, bool faults) {
    SimulatedGroup<Allreduce> simulated;
    std::vector<std::vector<float>> values;
    Job job(options);
    CableFaults cables(job, options.seed);
    simulated.sign_on(job, all_ranks(job));
    for (int member = 0; member < simulated.size(); ++member) {
        values.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i)
            values.back()[i] = float(1.0 / (3.0 + member * 7 + double(i % 97)));
    }
    if (faults) cables.cut_one();
    for (int member = 0; member < simulated.size(); ++member)
        simulated[member].start(values[std::size_t(member)].data(), count, float_sum);
    const auto done = [&] { return simulated.complete(); };
    const bool ended = faults ? run_among_faults(job, cables, done) : job.run_until(done);
    INFO(job.report());
    REQUIRE(ended);
    return values[0];
}

}  // namespace

TEST_CASE("a sum has the same bits whichever cables die during it", "[detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    const JobOptions options =
        torus(seed % 3 == 0 ? std::vector{2, 2, 2} : std::vector{3, 4}, seed);
    for (const std::size_t count : {std::size_t(5), std::size_t(20000)}) {
        const auto plain = sum_of(options, count, false);
        const auto troubled = sum_of(options, count, true);
        REQUIRE(std::memcmp(plain.data(), troubled.data(), count * sizeof(float)) == 0);
    }
}

}  // namespace detour_test
