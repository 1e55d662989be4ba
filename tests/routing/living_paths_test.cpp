// SPDX-License-Identifier: BSD-3-Clause
#include "routing/living_paths.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>

#include "random_torus.h"
#include "routing/detours.h"

namespace living_paths_test {

using namespace torusmp::routing;
using namespace torusmp::routing::test;

// A link in one direction, of which a packet holds a slot.
using Slot = std::pair<Rank, int>;

bool leads_to_cycle(const Slot& slot, std::map<Slot, std::set<Slot>>& after,
                    std::map<Slot, int>& state) {
    int& mine = state[slot];
    if (mine != 0) return mine == 1;
    mine = 1;
    for (const Slot& next : after[slot])
        if (leads_to_cycle(next, after, state)) return true;
    state[slot] = 2;
    return false;
}

TEST_CASE("paths over living ranks join all ranks that can be joined, and cannot deadlock") {
    Random random(23);
    for (int round = 0; round < 100; ++round) {
        const Shape shape = random_shape(random, 40);
        const Torus torus = shape.torus();
        std::vector<bool> dead(std::size_t(torus.size()));
        for (int deaths = between(random, 0, torus.size() / 2); deaths > 0; --deaths)
            dead[std::size_t(between(random, 0, torus.size() - 1))] = true;
        std::vector<Link> lost;
        for (Rank rank = 0; rank < torus.size(); ++rank)
            for (int d = 0; d < torus.dimensions(); ++d)
                if (const auto next = torus.neighbour(rank, {d, +1});
                    next && (dead[std::size_t(rank)] || dead[std::size_t(*next)]))
                    lost.push_back({rank, d});
        const Parts parts(torus, lost);
        INFO("round " << round << ", " << torus.describe());
        std::vector<std::optional<LivingPaths>> of(dead.size());
        for (Rank rank = 0; rank < torus.size(); ++rank)
            if (!dead[std::size_t(rank)]) of[std::size_t(rank)].emplace(torus, dead, rank);
        std::map<Slot, std::set<Slot>> after;
        for (Rank from = 0; from < torus.size(); ++from) {
            if (dead[std::size_t(from)]) continue;
            const LivingPaths& mine = *of[std::size_t(from)];
            for (Rank to = 0; to < torus.size(); ++to) {
                const bool joined = !dead[std::size_t(to)] && parts.of(from) == parts.of(to);
                REQUIRE(mine.joins(from, to) == joined);
                const auto path = mine.path(from, to);
                CHECK(path.empty() == (!joined || from == to));
                Rank here = from;
                std::optional<Slot> held;
                for (const Hop& hop : path) {
                    CHECK(torus.neighbour(here, hop.direction) == hop.rank);
                    CHECK(!dead[std::size_t(hop.rank)]);
                    // Every rank computes the same.
                    const auto theirs = of[std::size_t(here)]->next_hop(here, to);
                    CHECK((theirs && theirs->direction == hop.direction));
                    const Slot slot{here, hop.direction.index()};
                    if (held) after[*held].insert(slot);
                    held = slot;
                    here = hop.rank;
                }
                CHECK((path.empty() || here == to));
            }
        }
        std::map<Slot, int> state;
        for (const auto& [slot, next] : std::map(after)) CHECK(!leads_to_cycle(slot, after, state));
    }
}

}  // namespace living_paths_test
