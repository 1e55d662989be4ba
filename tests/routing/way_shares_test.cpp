// SPDX-License-Identifier: BSD-3-Clause
#include "routing/way_shares.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "random_torus.h"
#include "routing/ways.h"

namespace way_shares_test {

using namespace torusmp::routing;
using namespace torusmp::routing::test;

using Shares = std::function<double(Rank from, Direction first)>;

// The load of the busiest link, in messages, if all ranks send one to `to`.
double busiest(const Torus& torus, Rank to, const Shares& share) {
    std::map<std::pair<Rank, int>, double> loads;
    for (Rank from = 0; from < torus.size(); ++from) {
        if (from == to) continue;
        for (const Direction first : first_directions(torus, from, to)) {
            Rank here = from;
            for (const Hop& hop : path_by(torus, from, to, first)) {
                loads[{here, hop.direction.index()}] += share(from, first);
                here = hop.rank;
            }
        }
    }
    double most = 0;
    for (const auto& load : loads) most = std::max(most, load.second);
    return most;
}

double busiest(const Torus& torus, Rank to) {
    std::map<Rank, WayShares> all;
    for (Rank from = 0; from < torus.size(); ++from)
        if (from != to) all[from] = way_shares(torus, from, to);
    return busiest(torus, to, [&](Rank from, Direction first) {
        return all[from][std::size_t(first.index())] / double(whole_message);
    });
}

double busiest_of_equal_shares(const Torus& torus, Rank to) {
    return busiest(torus, to, [&](Rank from, Direction) {
        return 1.0 / double(first_directions(torus, from, to).size());
    });
}

TEST_CASE("shares of ways fill all links of the rank to which all send") {
    const auto extents = GENERATE(values<std::vector<int>>({{3, 3, 2},
                                                            {2, 2, 2},
                                                            {4, 3, 2},
                                                            {8, 4, 2},
                                                            {5, 3, 2},
                                                            {4, 4, 2},
                                                            {4, 4, 4},
                                                            {3, 4},
                                                            {4, 2},
                                                            {7}}));
    const Torus torus(extents);
    CAPTURE(torus.describe());
    const double least = double(torus.size() - 1) / (2 * torus.dimensions());
    for (const Rank to : {0, torus.size() / 2, torus.size() - 1})
        CHECK(busiest(torus, to) <= 1.04 * least);
}

TEST_CASE("equal shares of ways leave links of 3x3x2 unused") {
    CHECK(busiest_of_equal_shares(Torus(std::vector{3, 3, 2}), 0) > 1.25 * 17 / 6);
}

TEST_CASE("shares of ways are of this message, and better than equal ones") {
    const int seed = GENERATE(range(0, 40));
    Random random{std::uint32_t(seed)};
    const Torus torus = random_shape(random, 60).torus();
    CAPTURE(seed, torus.describe());
    if (torus.size() == 1) return;
    const Rank to = Rank(random() % unsigned(torus.size()));
    for (Rank from = 0; from < torus.size(); ++from) {
        if (from == to) continue;
        WayShares shares = way_shares(torus, from, to);
        CHECK(std::accumulate(shares.begin(), shares.end(), 0) == whole_message);
        for (const Direction first : first_directions(torus, from, to))
            shares[std::size_t(first.index())] = 0;
        CHECK(shares == WayShares{});
    }
    CHECK(busiest(torus, to) <= 1.02 * busiest_of_equal_shares(torus, to));
}

TEST_CASE("shares of ways on a graph") {
    // Two paths from rank 2 to rank 0, and a rank that has one of them alone.
    const std::vector<std::pair<Rank, Rank>> cables{{0, 1}, {0, 3}, {1, 2}, {2, 3}, {3, 4}};
    const Torus torus(std::make_shared<const Graph>(5, assign_directions(5, cables)));
    CHECK(busiest(torus, 0) <= 1.02 * busiest_of_equal_shares(torus, 0));
}

}  // namespace way_shares_test
