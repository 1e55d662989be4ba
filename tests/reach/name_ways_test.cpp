// SPDX-License-Identifier: BSD-3-Clause
// The search for hosts from neighbour to neighbour before the neighbours are known.
#include "programs/reach/name_ways.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "routing/torus.h"

using torusmp::reach::NameWays;

namespace name_ways_test {
namespace {

// Plays agents that reach neighbours only, one attempt after the other in a random order.
std::vector<int> play(int hosts, int start, const std::function<bool(int, int)>& joined,
                      NameWays& ways, unsigned seed) {
    std::vector<bool> begun(std::size_t(hosts), false);
    std::vector<int> reached{start};
    unsigned random = seed;
    // Long enough that each host's turn has come meanwhile.
    for (int quiet = 0; quiet < 50 * hosts;) {
        random = random * 1664525u + 1013904223u;
        const int host = int((random >> 8) % unsigned(hosts));
        const int parent = ways.parents()[std::size_t(host)];
        const bool at_work = std::find(reached.begin(), reached.end(), parent) != reached.end();
        if (host == start || begun[std::size_t(host)] || !at_work) {
            ++quiet;
            continue;
        }
        quiet = 0;
        if (joined(parent, host)) {
            begun[std::size_t(host)] = true;
            reached.push_back(host);
            ways.greeted(host);
        } else {
            ways.failed(host);
        }
    }
    std::sort(reached.begin(), reached.end());
    return reached;
}

}  // namespace

TEST_CASE("Ways by names: every host of a torus is reached, by a neighbour") {
    const torusmp::routing::Torus torus(std::vector<int>{3, 3, 2}, std::vector<bool>(3, true));
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const int start = int(seed % 18);
        NameWays ways(torus.size(), start);
        const auto reached = play(
            torus.size(), start, [&](int a, int b) { return torus.distance(a, b) == 1; }, ways,
            seed);
        CHECK(int(reached.size()) == torus.size());
        CHECK(ways.unreached().empty());
        for (int host = 0; host < torus.size(); ++host)
            if (host != start) CHECK(torus.distance(ways.parents()[std::size_t(host)], host) == 1);
        CHECK(ways.lost(start).size() == std::size_t(torus.size()));
    }
}

TEST_CASE("Ways by names: unreachable hosts are reported once all have tried") {
    NameWays ways(6, 2);
    const auto joined = [](int a, int b) { return (a < 4) == (b < 4); };
    CHECK(play(6, 2, joined, ways, 7) == std::vector<int>{0, 1, 2, 3});
    CHECK(ways.unreached() == std::vector<int>{4, 5});
    CHECK(NameWays(1, 0).unreached().empty());
    NameWays outside(3, -1);  // this host is none of them
    CHECK(outside.parents() == std::vector<int>{-1, -1, -1});
    outside.greeted(1);
    outside.failed(0);
    CHECK(outside.parents() == std::vector<int>{1, -1, -1});
}

}  // namespace name_ways_test
