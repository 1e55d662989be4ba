// SPDX-License-Identifier: BSD-3-Clause
// The trace: its levels by module, the lines that are kept and printed, and their end in the
// message of an assertion.
#include "base/trace.h"

#include <catch2/catch.hpp>

#include <stdexcept>

#include "base/assert.h"
#include "ending.h"

namespace trace_test {

using namespace torusmp::base;
using Catch::Contains;

int evaluated = 0;
int argument() {
    return ++evaluated;
}

TEST_CASE("levels are parsed for all modules and for single modules", "[trace]") {
    const TraceLevels all = parse_trace_levels("debug");
    for (const TraceLevel level : all.of) CHECK(level == TraceLevel::debug);
    TraceLevels mixed = parse_trace_levels("info,link=trace,packet=off");
    CHECK(mixed.of[std::size_t(TraceModule::link)] == TraceLevel::trace);
    CHECK(mixed.of[std::size_t(TraceModule::packet)] == TraceLevel::off);
    CHECK(mixed.of[std::size_t(TraceModule::message)] == TraceLevel::info);
    CHECK(parse_trace_levels("link=debug").of[std::size_t(TraceModule::message)] ==
          TraceLevel::off);
    CHECK_THROWS_WITH(parse_trace_levels("loud"), Contains("'loud'") && Contains("info, debug"));
    CHECK_THROWS_WITH(parse_trace_levels("info,cable=trace"),
                      Contains("'cable'") && Contains("connection, link"));
    CHECK_THROWS_WITH(parse_trace_levels("info,trace"), Contains("'trace'"));
    CHECK_THROWS_AS(parse_trace_levels(""), std::invalid_argument);
}

TEST_CASE("lines of level info are kept, lines of higher levels only on request", "[trace]") {
    set_trace_levels({});
    TORUSMP_TRACE(link, info, 7, "link {} is dead", 3);
    TORUSMP_TRACE(link, debug, 7, "not wanted {}", argument());
    CHECK(evaluated == 0);
    const auto lines = trace_lines(7);
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains(" rank 7 link: link 3 is dead"));
    CHECK(trace_lines(8).empty());
}

TEST_CASE("the ring keeps the last lines, cut to its line length", "[trace]") {
    set_trace_levels({});
    for (std::size_t n = 0; n < 3 * most_trace_lines; ++n)
        TORUSMP_TRACE(message, info, int(n % 2), "line {} {}", n, std::string(300, 'x'));
    const auto all = trace_lines(-1, 10 * most_trace_lines);
    REQUIRE(all.size() == most_trace_lines);
    CHECK_THAT(all.back(), Contains("line 767 x"));
    CHECK(all.back().size() < 260);
    CHECK(trace_lines(0, 10 * most_trace_lines).size() == most_trace_lines / 2);
    CHECK(trace_lines(1, 4).size() == 4);
}

TEST_CASE("lines are printed with time and rank, also at the end of an assertion's message",
          "[trace]") {
    const auto ending = testing::ending_of([] {
        set_trace_levels(parse_trace_levels("off,message=debug"));
        TORUSMP_TRACE(message, debug, 2, "send 5 asks");
        TORUSMP_TRACE(link, info, 3, "link 0 is dead");
        TORUSMP_ASSERT(argument() < 0, evaluated);
    });
    const std::size_t failed = ending.text.find("assertion failed: argument() < 0");
    REQUIRE(failed != std::string::npos);
    CHECK_THAT(ending.text.substr(0, failed), Contains(" rank 2 message: send 5 asks\n"));
    CHECK_THAT(ending.text.substr(0, failed), !Contains("link 0"));
    CHECK_THAT(ending.text.substr(failed), Contains("rank 2 message: send 5 asks\n"));
    CHECK_THAT(ending.text.substr(failed), Contains("rank 3 link: link 0 is dead\n"));
}

}  // namespace trace_test
