// SPDX-License-Identifier: BSD-3-Clause
// The trace of core in the report of a rank: packets, messages, and links that die.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/trace.h"
#include "core/job.h"
#include "core/waits/waits.h"

namespace trace_test {

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

// Sets levels until the end of a test, which others must not notice.
struct Levels {
    explicit Levels(std::string_view text) {
        base::set_trace_levels(base::parse_trace_levels(text));
    }
    ~Levels() { base::set_trace_levels({}); }
};

bool traced(Rank rank, const std::string& part) {
    const auto lines = base::trace_lines(rank, base::most_trace_lines);
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(part) != std::string::npos;
    });
}

// One small and one large message from rank 0 to rank 1.
void exchange(Tag tag) {
    std::vector<std::byte> from(5000), small(8), to(5000), little(8);
    SendRequest sends[2];
    ReceiveRequest receives[2];
    Job job(JobOptions{.dims = {2}});
    job[0].send(sends[0], {small.data(), small.size()}, 1, 0, tag);
    job[0].send(sends[1], {from.data(), from.size()}, 1, 0, tag);
    job.settle();
    job[1].receive(receives[0], {little.data(), little.size()}, 0, 0, tag);
    job[1].receive(receives[1], {to.data(), to.size()}, 0, 0, tag);
    job.settle();
    REQUIRE((sends[1].complete() && receives[1].complete()));
}

TEST_CASE("packets are traced by kind only on request, large messages by stage", "[core][trace]") {
    exchange(41);
    CHECK_FALSE(traced(1, "tag 41"));
    const Levels levels("debug");
    exchange(42);
    CHECK(traced(0, "of 5000 B to 1, tag 42: asks"));
    CHECK(traced(1, "receive of 5000 B from 0, tag 42: reads") !=
          traced(1, "of 5000 B from 0, tag 42: is ready to be written"));
    CHECK_FALSE(traced(1, "arrived by"));
    const Levels more("trace");
    exchange(43);
    CHECK(traced(1,
                 "arrived by 0: eager number 0 from 0 to 1, 8 B, virtual channel 0, context 0, "
                 "tag 43"));
    CHECK(traced(1, "arrived by 0: rts number 1 from 0 to 1"));
    CHECK(traced(0, "sends rts number 1 to 1 by 1"));
}

TEST_CASE("the report of a rank ends with the events of its links", "[core][trace]") {
    Job job(detour_torus({3, 3}, 1));
    job.settle();
    TORUSMP_TRACE(link, info, 0, "the cut");  // other tests have traced, too
    job.cut_link(0, {0, +1});
    job.settle();
    Waits waits;
    waits.trace = base::trace_lines(0);
    const auto cut = std::find_if(waits.trace.begin(), waits.trace.end(), [](const auto& line) {
        return line.find("the cut") != std::string::npos;
    });
    waits.trace.erase(waits.trace.begin(), cut);
    const std::string text = describe(waits, [](Rank rank) { return std::to_string(rank); });
    const std::size_t last = text.find("the last lines of its trace:");
    REQUIRE(last != std::string::npos);
    CHECK_THAT(text.substr(last), Catch::Contains("the link of rank 0 in dimension 0 is dead"));
    CHECK_THAT(text.substr(last), Catch::Contains("agrees with rank 3 on their detour"));
    const auto copy = decode_waits(encode(waits), 1);
    REQUIRE(copy);
    CHECK(copy->trace == waits.trace);
}

// The states that the end of a link at `rank` has gone through.
std::vector<std::string> states_of_link(Rank rank, Rank peer) {
    const std::string named = "the link to rank " + std::to_string(peer) + ": ";
    const std::string before = " (was: ";
    std::vector<std::string> states;
    for (const std::string& line : base::trace_lines(rank, base::most_trace_lines)) {
        const std::size_t at = line.find(named);
        const std::size_t was = line.find(before);
        if (at == std::string::npos || was == std::string::npos) continue;
        const std::size_t from = was + before.size();
        const std::string old = line.substr(from, line.rfind(')') - from);
        if (states.empty()) states.push_back(old);
        CHECK(states.back() == old);
        states.push_back(line.substr(at + named.size(), was - at - named.size()));
    }
    return states;
}

TEST_CASE("the end of a link changes from its cable to a detour and back", "[core][trace]") {
    const Levels levels("info,link=debug");
    Job job(detour_torus({4}, 1));
    job.settle();
    const Rank rank = 3, peer = 0;
    REQUIRE(job.cut_link(rank, {0, +1}));
    job.settle();
    job.revive_link(rank, {0, +1});
    job.settle();
    REQUIRE(job.on_cables());
    const std::vector<std::string> states{
        "on its cable", "has no detour", "waiting for the other end to agree on the detour",
        "on a detour",  "has no detour", "its cable is back; waiting for the other end to confirm",
        "on its cable"};
    CHECK(states_of_link(rank, peer) == states);
    CHECK(states_of_link(peer, rank) == states);
}

}  // namespace trace_test
