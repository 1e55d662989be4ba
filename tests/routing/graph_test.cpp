// SPDX-License-Identifier: BSD-3-Clause
#include "routing/graph.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>

#include "routing/detours.h"
#include "routing/torus.h"
#include "routing/ways.h"

namespace graph_test {

using namespace torusmp::routing;
using Pairs = std::vector<std::pair<Rank, Rank>>;

std::shared_ptr<const Graph> graph_of(int size, const Pairs& cables,
                                      int channels = max_dimensions) {
    return std::make_shared<const Graph>(size, assign_directions(size, cables), channels);
}

// A random tree with further cables; no rank has more than 12.
Pairs random_cables(int size, std::mt19937& random) {
    Pairs cables;
    std::vector<int> count(std::size_t(size), 0);
    const auto add = [&](Rank a, Rank b) {
        if (a == b || count[std::size_t(a)] == 12 || count[std::size_t(b)] == 12) return false;
        cables.push_back({a, b});
        return ++count[std::size_t(a)], ++count[std::size_t(b)], true;
    };
    for (Rank rank = 1; rank < size; ++rank)
        while (!add(rank, Rank(random() % unsigned(rank)))) continue;
    for (auto more = random() % unsigned(3 * size); more > 0; --more)
        add(Rank(random() % unsigned(size)), Rank(random() % unsigned(size)));
    return cables;
}

// The channel dependencies of all paths: slots of (rank, direction, virtual channel) that a packet
// holds while it waits for the next. Returns true if they have no cycle.
class Dependencies {
  public:
    explicit Dependencies(const Torus& torus) : torus_(torus) {
        for (Rank from = 0; from < torus.size(); ++from)
            for (Rank to = 0; to < torus.size(); ++to)
                for (const Direction first : first_directions(torus, from, to))
                    follow(from, to, first);
    }
    bool acyclic() {
        for (const auto& [slot, next] : after_)
            if (!visit(slot)) return false;
        return true;
    }
    int channels() const { return channels_; }

  private:
    using Slot = std::tuple<Rank, int, int>;
    void follow(Rank from, Rank to, Direction first) {
        Rank here = from;
        std::optional<Slot> held;
        int channel = 0;
        std::optional<Direction> in;
        for (const Hop& hop : path_by(torus_, from, to, first)) {
            if (in && torus_.turns(here, *in, hop.direction)) ++channel;
            channels_ = std::max(channels_, channel + 1);
            const Slot slot{here, hop.direction.index(), channel};
            if (held) after_[*held].insert(slot);
            held = slot;
            in = hop.direction.opposite();
            here = hop.rank;
        }
        CHECK(here == to);
    }
    bool visit(const Slot& slot) {
        int& state = state_[slot];
        if (state != 0) return state == 2;
        state = 1;
        for (const Slot& next : after_[slot])
            if (!visit(next)) return false;
        state_[slot] = 2;
        return true;
    }

    const Torus& torus_;
    std::map<Slot, std::set<Slot>> after_;
    std::map<Slot, int> state_;
    int channels_ = 1;
};

TEST_CASE("cables get directions of their own, half as many dimensions as a rank has cables") {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        const int size = 2 + int(random() % 31u);
        const Pairs cables = random_cables(size, random);
        const auto assigned = assign_directions(size, cables);
        REQUIRE(assigned.size() == cables.size());
        std::map<Rank, int> count;
        std::set<std::pair<Rank, int>> used;
        int dimensions = 0;
        for (std::size_t i = 0; i < cables.size(); ++i) {
            const GraphCable& it = assigned[i];
            CHECK(std::minmax(it.from, it.to) == std::minmax(cables[i].first, cables[i].second));
            CHECK(used.insert({it.from, 2 * it.dimension}).second);
            CHECK(used.insert({it.to, 2 * it.dimension + 1}).second);
            dimensions = std::max(dimensions, it.dimension + 1);
            ++count[it.from], ++count[it.to];
        }
        int most = 0;
        for (const auto& [rank, number] : count) most = std::max(most, number);
        CHECK(dimensions <= (most + 1) / 2);
    }
}

TEST_CASE("packets on a graph cannot wait for each other in a circle") {
    std::mt19937 random(11);
    for (int round = 0; round < 120; ++round) {
        const int size = 2 + int(random() % 23u);
        const auto graph =
            graph_of(size, random_cables(size, random), round % 3 == 0 ? 1 : max_dimensions);
        const Torus torus(graph);
        Dependencies dependencies(torus);
        INFO("round " << round << ", " << torus.describe());
        CHECK(dependencies.acyclic());
        CHECK(dependencies.channels() <= torus.virtual_channels());
        CHECK(torus.virtual_channels() <= max_dimensions);
    }
}

TEST_CASE("paths on a graph are shortest unless there are too few virtual channels") {
    std::mt19937 random(13);
    int limited = 0;
    for (int round = 0; round < 100; ++round) {
        const int size = 2 + int(random() % 31u);
        const auto cables = random_cables(size, random);
        const auto graph = graph_of(size, cables, round % 4 == 0 ? 1 : max_dimensions);
        limited += graph->shortest() ? 0 : 1;
        const Torus torus(graph);
        for (Rank a = 0; a < size; ++a)
            for (Rank b = 0; b < size; ++b) {
                const auto path = torus.path(a, b);
                REQUIRE(int(path.size()) == torus.distance(a, b));
                if (!graph->shortest()) continue;
                for (const Direction first : first_directions(torus, a, b))
                    CHECK(path_by(torus, a, b, first).size() == path.size());
            }
        for (const auto& [a, b] : cables) CHECK(torus.distance(a, b) == 1);
    }
    CHECK(limited > 0);
}

TEST_CASE("all parallel cables to a neighbour carry a large message") {
    const Torus torus(graph_of(2, {{0, 1}, {0, 1}, {1, 0}}));
    CHECK(first_directions(torus, 0, 1).size() == 3);
    CHECK(torus.virtual_channels() == 1);
}

TEST_CASE("stars, meshes and lines have the distances of their cables") {
    Pairs star, mesh;
    for (Rank a = 1; a < 9; ++a) star.push_back({0, a});
    for (Rank a = 0; a < 8; ++a)
        for (Rank b = 0; b < a; ++b) mesh.push_back({a, b});
    const Torus a_star(graph_of(9, star)), a_mesh(graph_of(8, mesh));
    CHECK(a_star.distance(3, 8) == 2);
    CHECK(a_star.virtual_channels() == 1);
    CHECK(a_mesh.distance(3, 7) == 1);
    CHECK(a_mesh.link_dimensions() == 4);
    CHECK(a_mesh.describe() == "graph of 8 with 28 cables");
}

TEST_CASE("several ranks on a node have its cables and a ring of their own") {
    const auto nodes = graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
    for (const int each : {1, 2, 3, 5}) {
        const Torus ranks(with_ranks(nodes, each));
        REQUIRE(ranks.size() == 4 * each);
        for (Rank rank = 0; rank < ranks.size(); ++rank)
            for (int i = 0; i < 2 * nodes->dimensions(); ++i) {
                const auto direction = Direction::from_index(i);
                const auto far = nodes->neighbour(rank / each, direction);
                CHECK(ranks.neighbour(rank, direction) ==
                      (far ? std::optional(*far * each + rank % each) : std::nullopt));
            }
        CHECK(ranks.distance(0, ranks.size() - 1) == 1 + (each > 1 ? 1 : 0));
    }
}

TEST_CASE("detours lead around the dead cables of a graph") {
    const Torus torus(graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}}));
    const auto link = [&](Rank a, Rank b) {
        for (int i = 0;; ++i)
            if (torus.neighbour(a, Direction::from_index(i)) == b)
                return link_by(torus, a, Direction::from_index(i));
    };
    const Link dead[] = {link(0, 1)};
    const Detours detours(torus, dead);
    CHECK(detours.parts().connected());
    CHECK(detours.route(0, 1)->size() == 2);
    const Link bridge[] = {link(0, 3)};
    CHECK_FALSE(Parts(torus, bridge).connected());
}

TEST_CASE("an impossible graph is refused") {
    CHECK_THROWS_AS(graph_of(3, {{0, 1}}), std::invalid_argument);
    const GraphCable twice[] = {{0, 0, 1}, {0, 0, 1}};
    CHECK_THROWS_AS(Graph(2, twice), std::invalid_argument);
    const GraphCable to_itself[] = {{0, 0, 0}};
    CHECK_THROWS_AS(Graph(1, to_itself), std::invalid_argument);
    const GraphCable far[] = {{0, 6, 1}};
    CHECK_THROWS_AS(Graph(2, far), std::invalid_argument);
}

}  // namespace graph_test
