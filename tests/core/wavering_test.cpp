// SPDX-License-Identifier: BSD-3-Clause
// Large messages over channels that sometimes allow and sometimes refuse remote writes.

#include <catch2/catch.hpp>
#include <deque>

#include "protocol_job.h"

namespace wavering_test {

using namespace torusmp::core;
using namespace torusmp::core::testing;
using namespace protocol;

// Shared memory measures by which copy it moves data, and changes its answer.
TEST_CASE(
    "a large message arrives although its channel sometimes allows a write and sometimes refuses "
    "it",
    "[core]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    JobOptions options = line(seed, ways[seed % 4], sim::Remote::refused);
    options.dims = {seed % 3 == 0 ? 5 : 2};  // of two, whose ranks have two cables to each other
    options.world.wavers = true;
    std::deque<Memory> out, in;
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    Job job(options);
    for (std::uint64_t n = 0; n < 40; ++n) {
        const std::size_t bytes = 1500 + 400 * n;
        out.emplace_back(bytes, n % 5 == 4).write(n);
        in.emplace_back(bytes, n % 7 == 6);
        job[0].send(sends.emplace_back(), out.back().buffer(), 1, 0, 1);
        if (n % 2 == 0) job.turn();
        job[1].receive(receives.emplace_back(), in.back().buffer(), 0, 0, 1);
    }
    job.settle();
    INFO(job.report());
    for (std::uint64_t n = 0; n < 40; ++n) {
        CAPTURE(n);
        REQUIRE(sends[n].complete());
        REQUIRE(receives[n].complete());
        REQUIRE(receives[n].status().error == Error::none);
        REQUIRE(in[n].holds(1500 + 400 * n, n));
        REQUIRE(in[n].guards_stand());
    }
}

}  // namespace wavering_test
