// SPDX-License-Identifier: BSD-3-Clause
// Tori and meshes recognized only from their cables, whatever the names of nodes and ports.
#include "routing/recognize.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "machine.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

// Renumbers the nodes, reorders the cables and turns them round; renumbers the ports on each node
// separately if `ports`.
Machine scramble(const Machine& machine, std::mt19937& random, bool ports) {
    Machine out = machine;
    std::vector<int> node(machine.names.size());
    std::iota(node.begin(), node.end(), 0);
    std::shuffle(node.begin(), node.end(), random);
    std::vector<std::vector<int>> port(node.size(), std::vector<int>(2 * max_dimensions));
    for (auto& of_node : port) {
        std::iota(of_node.begin(), of_node.end(), 0);
        if (ports) std::shuffle(of_node.begin(), of_node.end(), random);
    }
    for (Cable& cable : out.cables) {
        for (CableEnd* end : {&cable.a, &cable.b})
            *end = {node[std::size_t(end->node)],
                    port[std::size_t(end->node)][std::size_t(end->port)]};
        if (random() % 2) std::swap(cable.a, cable.b);
    }
    std::shuffle(out.cables.begin(), out.cables.end(), random);
    return out;
}

// The proof that the cables are the links of the torus found: a bijection of nodes under which
// every link has exactly the one cable that its ports name.
void check_isomorphism(const Machine& machine, const Recognized& found) {
    REQUIRE(found.torus.size() == int(machine.names.size()));
    std::vector<int> node_at(machine.names.size(), -1);
    for (std::size_t node = 0; node < machine.names.size(); ++node) {
        const Rank rank = found.rank_of[node];
        REQUIRE((rank >= 0 && rank < found.torus.size()));
        REQUIRE(node_at[std::size_t(rank)] == -1);
        node_at[std::size_t(rank)] = int(node);
    }
    std::map<std::pair<int, int>, CableEnd> across;
    for (const Cable& cable : machine.cables) {
        across[{cable.a.node, cable.a.port}] = cable.b;
        across[{cable.b.node, cable.b.port}] = cable.a;
    }
    std::size_t ends = 0;
    for (Rank rank = 0; rank < found.torus.size(); ++rank)
        for (int i = 0; i < 2 * max_dimensions; ++i) {
            const Direction direction = Direction::from_index(i);
            const int node = node_at[std::size_t(rank)];
            const int port = found.ports[std::size_t(node)][std::size_t(i)];
            const auto next = direction.dimension < found.torus.dimensions()
                                  ? found.torus.neighbour(rank, direction)
                                  : std::nullopt;
            REQUIRE((port == Recognized::no_port) == !next.has_value());
            if (!next) continue;
            const int peer = node_at[std::size_t(*next)];
            const int far =
                found.ports[std::size_t(peer)][std::size_t(direction.opposite().index())];
            REQUIRE(across.count({node, port}));
            REQUIRE(across[{node, port}] == CableEnd{peer, far});
            ++ends;
        }
    REQUIRE(ends == 2 * machine.cables.size());
}

Torus random_torus(std::mt19937& random, int most_nodes) {
    for (;;) {
        std::vector<int> dims(1 + random() % 4);
        std::vector<bool> periodic;
        int size = 1;
        for (int& extent : dims) {
            extent = 1 + int(random() % 5);
            size *= extent;
            periodic.push_back(random() % 3 != 0);
        }
        if (size <= most_nodes) return Torus(dims, periodic);
    }
}

Recognition recognize(const Machine& machine) {
    return recognize_torus(machine.names, machine.cables);
}

}  // namespace

TEST_CASE("Any torus or mesh is recognized from its cables, up to isomorphism") {
    std::mt19937 random(20261121);
    for (int round = 0; round < 400; ++round) {
        const Torus torus = random_torus(random, 120);
        CAPTURE(round, torus.describe());
        const Machine machine = scramble(wire(torus), random, round % 2 == 0);
        const Recognition recognition = recognize(machine);
        CAPTURE(recognition.reason);
        REQUIRE(recognition.found);
        check_isomorphism(machine, *recognition.found);
    }
}

TEST_CASE("Every small torus of up to three dimensions is recognized, with sizes 1, 2, 3 and 4") {
    std::mt19937 random(7);
    for (int a = 1; a <= 4; ++a)
        for (int b = 1; b <= 4; ++b)
            for (int c = 1; c <= 4; ++c)
                for (int flags = 0; flags < 8; ++flags) {
                    const Torus torus(std::vector<int>{a, b, c},
                                      {(flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0});
                    CAPTURE(torus.describe());
                    const Machine machine = scramble(wire(torus), random, true);
                    const Recognition recognition = recognize(machine);
                    CAPTURE(recognition.reason);
                    REQUIRE(recognition.found);
                    check_isomorphism(machine, *recognition.found);
                }
}

TEST_CASE("Nodes in row-major order with like ports keep their numbers and dimensions") {
    const std::vector<std::pair<std::vector<int>, std::vector<bool>>> machines = {
        {{5}, {true}},
        {{6}, {false}},
        {{2}, {true}},
        {{2}, {false}},
        {{3, 4}, {true, true}},
        {{4, 4, 4}, {true, true, true}},
        {{2, 2, 2}, {true, true, true}},
        {{2, 3, 4}, {true, false, true}},
        {{2, 2}, {false, false}},
        {{3, 3, 2}, {true, true, true}}};
    for (const auto& [dims, periodic] : machines) {
        const Torus torus(dims, periodic);
        CAPTURE(torus.describe());
        const Recognition recognition = recognize(wire(torus));
        REQUIRE(recognition.found);
        CHECK(recognition.found->torus == torus);
        for (Rank rank = 0; rank < torus.size(); ++rank)
            CHECK(recognition.found->rank_of[std::size_t(rank)] == rank);
        // One table of links is enough for all: every node has the same port for a direction.
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            std::set<int> used;
            for (const auto& ports : recognition.found->ports)
                if (ports[std::size_t(i)] != Recognized::no_port)
                    used.insert(ports[std::size_t(i)]);
            CHECK(used.size() <= 1);
        }
    }
}

TEST_CASE("A torus with any one cable missing is refused, and the two nodes are named") {
    std::mt19937 random(3);
    for (const std::vector<int>& dims :
         std::vector<std::vector<int>>{{3, 3}, {2, 2, 2}, {4, 3}, {2, 5}, {4, 4, 2}, {3, 3, 3}}) {
        const Machine whole = scramble(wire(Torus(dims)), random, true);
        for (std::size_t gone = 0; gone < whole.cables.size(); ++gone) {
            Machine machine = whole;
            machine.cables.erase(machine.cables.begin() + std::ptrdiff_t(gone));
            const Recognition recognition = recognize(machine);
            REQUIRE_FALSE(recognition.found);
            if (machine.names.size() > 4)
                for (const CableEnd& end : {whole.cables[gone].a, whole.cables[gone].b})
                    CHECK_THAT(recognition.reason,
                               Catch::Matchers::Contains(machine.names[std::size_t(end.node)]));
        }
    }
}

TEST_CASE("Two cables exchanged make another torus at most, never a wrong one") {
    std::mt19937 random(11);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        const Torus torus = random_torus(random, 60);
        Machine machine = scramble(wire(torus), random, false);
        if (machine.cables.size() < 2) continue;
        const std::size_t one = random() % machine.cables.size();
        const std::size_t two = random() % machine.cables.size();
        std::swap(machine.cables[one].b, machine.cables[two].b);
        const Recognition recognition = recognize(machine);
        if (recognition.found)
            check_isomorphism(machine, *recognition.found);
        else
            ++refused;
    }
    CHECK(refused > 50);
}

TEST_CASE("Cables that do not form a torus are refused with the reason") {
    using Catch::Matchers::Contains;
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
    const auto reason = [&](std::size_t nodes, const std::vector<Cable>& cables) {
        const Recognition result = recognize_torus(std::span(names).first(nodes), cables);
        CHECK_FALSE(result.found);
        return result.reason;
    };
    CHECK_THAT(reason(0, {}), Contains("no nodes"));
    CHECK_THAT(reason(2, {}), Contains("is split") && Contains("a to b"));
    CHECK_THAT(reason(1, {{{0, 0}, {0, 1}}}), Contains("a to itself"));
    CHECK_THAT(reason(2, {{{0, 0}, {1, 0}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 2}}}),
               Contains("3 cables join a and b"));
    CHECK_THAT(reason(2, {{{0, 0}, {1, 0}}, {{0, 0}, {1, 1}}}), Contains("one port of a"));
    CHECK_THAT(reason(2, {{{0, 0}, {7, 0}}}), Contains("node 7"));
    // A star, a complete graph of four, a line with one double cable, a ring with a tail.
    CHECK_THAT(reason(4, {{{0, 0}, {1, 0}}, {{0, 1}, {2, 0}}, {{0, 2}, {3, 0}}}),
               Contains("a (3)"));
    CHECK_FALSE(reason(4, {{{0, 0}, {1, 0}},
                           {{0, 1}, {2, 0}},
                           {{0, 2}, {3, 0}},
                           {{1, 1}, {2, 1}},
                           {{1, 2}, {3, 1}},
                           {{2, 2}, {3, 2}}})
                    .empty());
    CHECK_FALSE(reason(3, {{{0, 0}, {1, 0}}, {{0, 1}, {1, 1}}, {{1, 2}, {2, 0}}}).empty());
    CHECK_FALSE(reason(4, {{{0, 0}, {1, 0}}, {{1, 1}, {2, 0}}, {{2, 1}, {0, 1}}, {{2, 2}, {3, 0}}})
                    .empty());
    // Petersen's graph and the like do not fit into six nodes; the utility graph K33 does.
    std::vector<Cable> utility;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) utility.push_back({{i, j}, {3 + j, i}});
    CHECK_FALSE(reason(6, utility).empty());
}

TEST_CASE("One node without cables is a torus of one") {
    const std::vector<std::string> names{"a"};
    const Recognition recognition = recognize_torus(names, {});
    REQUIRE(recognition.found);
    CHECK(recognition.found->torus.size() == 1);
}

TEST_CASE("A machine of five hundred nodes is recognized") {
    std::mt19937 random(5);
    const Machine machine = scramble(wire(Torus(std::vector<int>{8, 8, 8})), random, true);
    const Recognition recognition = recognize(machine);
    REQUIRE(recognition.found);
    CHECK(recognition.found->torus == Torus(std::vector<int>{8, 8, 8}));
    check_isomorphism(machine, *recognition.found);
}
