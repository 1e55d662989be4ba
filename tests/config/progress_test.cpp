// SPDX-License-Identifier: BSD-3-Clause
// The progress messages of a long operation.
#include "base/progress.h"

#include <catch2/catch.hpp>

namespace torusmp::progress_test {

using namespace std::chrono_literals;

TEST_CASE(
    "Progress is reported in percent, with the remaining time extrapolated from the steps so far") {
    CHECK(base::progress_text(1, 4, 2s) == "25 %, 6 s left");
    CHECK(base::progress_text(3, 4, 2s) == "75 %, 1 s left");
    CHECK(base::progress_text(1, 3, 1h) == "33 %, 2 h 0 min left");
    CHECK(base::progress_text(1, 2, 30min) == "50 %, 30 min left");
    CHECK(base::progress_text(999, 1000, 1000s) == "99 %, 2 s left");
}

TEST_CASE("No time is reported if it would be a guess") {
    CHECK(base::progress_text(0, 4, 20s) == "0 %");
    CHECK(base::progress_text(1, 4, 999ms) == "25 %");
    CHECK(base::progress_text(4, 4, 20s) == "100 %");
    CHECK(base::progress_text(5, 4, 20s) == "100 %");
    CHECK(base::progress_text(0, 0, 20s) == "0 %");
}

}  // namespace torusmp::progress_test
