// SPDX-License-Identifier: BSD-3-Clause
// An assertion that fails prints its condition and values and aborts. A disabled assertion does
// nothing.
#include "base/assert.h"

#include <catch2/catch.hpp>

#include <string>

#include "ending.h"

namespace assert_test {

using testing::Ending;
using testing::ending_of;

enum class Stage { idle, writing };

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("A failed assertion prints condition, place and values, and aborts", "[assert]") {
    const int credits = -1;
    const std::uint64_t limit = 64;
    const auto larger = [](int a, int b) { return a > b ? a : b; };
    const Ending ending = ending_of([&] {
        TORUSMP_ASSERT(credits >= 0, credits, larger(credits, 3), limit, Stage::writing, true,
                       std::string_view("link 0+"));
    });
    if (!torusmp::base::assertions) {
        CHECK(ending.status == 0);
        CHECK(ending.text.empty());
        return;
    }
    CHECK(WIFSIGNALED(ending.status));
    CHECK(WTERMSIG(ending.status) == SIGABRT);
    CHECK(contains(ending.text, "assertion failed: credits >= 0\n"));
    CHECK(contains(ending.text, "assert_test.cpp:"));
    CHECK(contains(ending.text, "  credits = -1\n"));
    CHECK(contains(ending.text, "  larger(credits, 3) = 3\n"));
    CHECK(contains(ending.text, "  limit = 64\n"));
    CHECK(contains(ending.text, "  Stage::writing = 1\n"));
    CHECK(contains(ending.text, "  true = true\n"));
    CHECK(contains(ending.text, "= link 0+\n"));
}

TEST_CASE("An assertion that holds, or that is off, does not evaluate its values", "[assert]") {
    int conditions = 0;
    int values = 0;
    TORUSMP_ASSERT(++conditions > 0, ++values);
    CHECK(conditions == (torusmp::base::assertions ? 1 : 0));
    CHECK(values == 0);
    TORUSMP_ASSERT(conditions >= 0);  // needs no values
}

}  // namespace assert_test
