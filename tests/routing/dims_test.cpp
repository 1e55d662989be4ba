// SPDX-License-Identifier: BSD-3-Clause
// balanced_dims and parse_dims.
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "random_torus.h"
#include "routing/torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;
using Catch::Matchers::Equals;

namespace {

using Dims = std::vector<int>;

// The least of all non-increasing sequences, found by trying every one.
Dims evenest_by_trying_all(int ranks, int dimensions) {
    Dims best, current;
    const std::function<void(int, int)> descend = [&](int rest, int bound) {
        if (int(current.size()) == dimensions) {
            if (rest == 1 && (best.empty() || current < best)) best = current;
            return;
        }
        for (int extent = 1; extent <= std::min(rest, bound); ++extent) {
            if (rest % extent != 0) continue;
            current.push_back(extent);
            descend(rest / extent, extent);
            current.pop_back();
        }
    };
    descend(ranks, ranks);
    return best;
}

}  // namespace

TEST_CASE("ranks are split as evenly as possible, largest extent first") {
    CHECK(balanced_dims(12, 3) == Dims{3, 2, 2});
    CHECK(balanced_dims(8, 3) == Dims{2, 2, 2});
    CHECK(balanced_dims(256, 3) == Dims{8, 8, 4});
    CHECK(balanced_dims(72, 3) == Dims{6, 4, 3});
    CHECK(balanced_dims(7, 3) == Dims{7, 1, 1});
    CHECK(balanced_dims(1, 4) == Dims{1, 1, 1, 1});
    CHECK(balanced_dims(17, 1) == Dims{17});
    CHECK(balanced_dims(1024, 10) == Dims(10, 2));
}

TEST_CASE("no other split is more even") {
    const int dimensions = GENERATE(range(1, 6));
    for (int ranks = 1; ranks <= 200; ++ranks) {
        CAPTURE(ranks, dimensions);
        REQUIRE(balanced_dims(ranks, dimensions) == evenest_by_trying_all(ranks, dimensions));
    }
}

TEST_CASE("numbers of ranks with many divisors and large primes are split too") {
    const int ranks = GENERATE(735134400, 2147483647, 1 << 30, 2147483646, 46337 * 46327);
    for (int dimensions = 1; dimensions <= max_dimensions; ++dimensions) {
        const Dims dims = balanced_dims(ranks, dimensions);
        CAPTURE(ranks, dims);
        REQUIRE(int(dims.size()) == dimensions);
        REQUIRE(std::accumulate(dims.begin(), dims.end(), std::int64_t(1), std::multiplies<>()) ==
                ranks);
        REQUIRE(std::is_sorted(dims.rbegin(), dims.rend()));
    }
}

TEST_CASE("a split of no ranks or over no dimensions is refused") {
    CHECK_THROWS_WITH(balanced_dims(0, 3),
                      Equals("cannot split 0 ranks over a torus, expected 1 or more"));
    CHECK_THROWS_WITH(balanced_dims(-4, 3),
                      Equals("cannot split -4 ranks over a torus, expected 1 or more"));
    CHECK_THROWS_WITH(balanced_dims(4, 0),
                      Equals("cannot split 4 ranks over 0 dimensions, expected 1 or more"));
}

TEST_CASE("dimensions are read from text") {
    CHECK(parse_dims("2x2x2") == Dims{2, 2, 2});
    CHECK(parse_dims("7") == Dims{7});
    CHECK(parse_dims("1x1x1x1x1x1") == Dims(6, 1));
    CHECK(parse_dims("6x8x2x2x2") == Dims{6, 8, 2, 2, 2});
    CHECK(parse_dims("2147483647x1") == Dims{2147483647, 1});
}

TEST_CASE("the description of a torus without open dimensions can be read back") {
    Random random{std::uint32_t(GENERATE(range(0, 40)))};
    const Shape shape = random_shape(random, 5000);
    REQUIRE(parse_dims(Torus(shape.extents).describe()) == shape.extents);
}

TEST_CASE("bad dimensions are refused with the text, the reason and an example") {
    const auto message = [](const std::string& text, const std::string& reason) {
        return "torus dimensions \"" + text + "\": " + reason +
               "; expected extents joined by x, such as 2x2x2";
    };
    const auto [text, reason] = GENERATE(table<std::string, std::string>({
        {"", "the text is empty"},
        {"0", "extent 1 is 0, and must be 1 or more"},
        {"2x0x2", "extent 2 is 0, and must be 1 or more"},
        {"2x-3", "extent 2 is -3, and must be 1 or more"},
        {"x", "extent 1 is missing"},
        {"2x", "extent 2 is missing"},
        {"x2", "extent 1 is missing"},
        {"2xx2", "extent 2 is missing"},
        {"two", "\"two\" is not a number"},
        {"2x2y", "\"2y\" is not a number"},
        {"2 x2", "\"2 \" is not a number"},
        {"2x+2", "\"+2\" is not a number"},
        {"2.5", "\"2.5\" is not a number"},
        {"0x10", "extent 1 is 0, and must be 1 or more"},
        {"2,2", "\"2,2\" is not a number"},
        {"99999999999", "99999999999 is too large"},
        {"65536x32768", "more ranks than the 2147483647 that can be numbered"},
        {"2147483647x2147483647x2147483647", "more ranks than the 2147483647 that can be numbered"},
        {"1x1x1x1x1x1x1", "7 dimensions, and a torus has at most 6"},
    }));
    CHECK_THROWS_WITH(parse_dims(text), Equals(message(text, reason)));
    CHECK_THROWS_AS(parse_dims(text), std::invalid_argument);
}

TEST_CASE("random text is either read or refused") {
    Random random{7};
    const std::string alphabet = "0123456789xxxx-+ .";
    for (int trial = 0; trial < 20000; ++trial) {
        std::string text(std::size_t(between(random, 0, 12)), ' ');
        for (char& c : text)
            c = alphabet[std::size_t(between(random, 0, int(alphabet.size()) - 1))];
        CAPTURE(text);
        try {
            const Dims dims = parse_dims(text);
            REQUIRE(Torus(dims).dimensions() == int(dims.size()));  // what is read makes a torus
        } catch (const std::invalid_argument& refusal) {
            REQUIRE_THAT(refusal.what(), Catch::Contains("\"" + text + "\""));
        }
    }
}
