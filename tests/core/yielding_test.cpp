// SPDX-License-Identifier: BSD-3-Clause
// When a rank that shares its core yields it.
#include "core/progress/yielding.h"

#include <catch2/catch.hpp>

namespace torusmp::core {
namespace yielding_test {

using Clock = Yielding::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_CASE("ranks that take turns yield as often as they like", "[yielding]") {
    Yielding yielding;
    Clock::time_point now{std::chrono::hours(1)};
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(yielding.pays(now));
        yielding.yielded(now, now + microseconds(80));
        now += microseconds(80);
    }
    CHECK(yielding.pays(now));
}

TEST_CASE("a core on which others compute is not yielded at once again", "[yielding]") {
    Yielding yielding;
    Clock::time_point now{std::chrono::hours(1)};
    // Over a second each yield takes a slice of 3 ms.
    Clock::duration lost{};
    const Clock::time_point end = now + std::chrono::seconds(1);
    while (now < end) {
        const Clock::time_point from = now;
        now += microseconds(20);  // what else it does
        if (!yielding.pays(from)) continue;
        now = from + milliseconds(3);
        yielding.yielded(from, now);
        lost += now - from;
    }
    CHECK(lost <= milliseconds(40));
    CHECK(lost >= milliseconds(3));
    // Nobody computes there any more: that shows in time.
    now += milliseconds(100);
    CHECK(yielding.pays(now));
    yielding.yielded(now, now + microseconds(5));
    CHECK(yielding.pays(now + microseconds(5)));
}

}  // namespace yielding_test
}  // namespace torusmp::core
