// SPDX-License-Identifier: BSD-3-Clause
// Cables that are missing from a torus are found from the others.
#include "routing/missing_cables.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <tuple>

#include "machine.h"

namespace missing_cables_test {

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

// That cable dies: its ports are there, and hear nothing.
Cable kill(Machine& machine, std::size_t number) {
    const Cable cable = machine.cables[number];
    machine.cables.erase(machine.cables.begin() + std::ptrdiff_t(number));
    machine.idle.push_back(cable.a);
    machine.idle.push_back(cable.b);
    return cable;
}

using Ends = std::tuple<int, int, int, int>;
Ends ends(const Cable& cable) {
    std::pair a(cable.a.node, cable.a.port), b(cable.b.node, cable.b.port);
    if (b < a) std::swap(a, b);
    return {a.first, a.second, b.first, b.second};
}
std::set<Ends> ends(const std::vector<Cable>& cables) {
    std::set<Ends> all;
    for (const Cable& cable : cables) all.insert(ends(cable));
    return all;
}

Completion complete(const Machine& machine) {
    return complete_torus(machine.names, machine.cables, machine.idle);
}

}  // namespace

TEST_CASE("Any cable that is missing from a torus is found, with the ports of its ends") {
    const std::vector<int> dims =
        GENERATE(std::vector{2}, std::vector{5}, std::vector{2, 2, 2}, std::vector{3, 3},
                 std::vector{3, 3, 2}, std::vector{4, 4}, std::vector{2, 4, 3});
    const Torus torus(dims);
    const Machine whole = wire(torus);
    for (std::size_t i = 0; i < whole.cables.size(); ++i) {
        Machine machine = whole;
        const Cable dead = kill(machine, i);
        CAPTURE(torus.describe(), i);
        const Completion found = complete(machine);
        REQUIRE(found.torus.found);
        CHECK(ends(found.missing) == std::set{ends(dead)});
        // As if it were there.
        const Recognition as_whole = recognize_torus(whole.names, whole.cables);
        CHECK(found.torus.found->torus == as_whole.found->torus);
    }
}

TEST_CASE("Several cables that are missing are found together") {
    std::mt19937 dice(5);
    const std::vector<Torus> tori{Torus(std::vector{3, 3, 2}), Torus(std::vector{4, 4}),
                                  Torus(std::vector{4, 4, 4}), Torus(std::vector{5, 6})};
    for (int round = 0; round < 60; ++round) {
        Machine machine = wire(tori[std::size_t(round) % tori.size()]);
        std::vector<Cable> dead;
        for (int i = 0; i < 2 + round % 2; ++i)
            dead.push_back(kill(machine, dice() % machine.cables.size()));
        CAPTURE(round);
        const Completion found = complete(machine);
        REQUIRE(found.torus.found);
        CHECK(ends(found.missing) == ends(dead));
    }
}

TEST_CASE("The ends of a missing cable are found even if a device is missing") {
    Machine machine = wire(Torus(std::vector{3, 3}));
    const Cable dead = kill(machine, 7);
    machine.idle.clear();
    CHECK(ends(complete(machine).missing) == std::set{ends(dead)});
}

TEST_CASE("If the names of ports differ between hosts, the nodes of a missing cable are found") {
    std::mt19937 dice(6);
    Machine machine = wire(Torus(std::vector{3, 3, 2}));
    for (int node = 0; node < int(machine.names.size()); ++node) {
        std::vector<int> ports(12);
        for (int i = 0; i < 12; ++i) ports[std::size_t(i)] = 12 * node + i;
        std::shuffle(ports.begin(), ports.end(), dice);
        for (Cable& cable : machine.cables)
            for (CableEnd* end : {&cable.a, &cable.b})
                if (end->node == node) end->port = ports[std::size_t(end->port)];
    }
    const Cable dead = kill(machine, 11);
    SECTION("and the ports that hear nothing") {
        CHECK(ends(complete(machine).missing) == std::set{ends(dead)});
    }
    SECTION("without ports, if no port exists") {
        machine.idle.clear();
        const Completion found = complete(machine);
        REQUIRE(found.missing.size() == 1);
        const auto [a, port_a, b, port_b] = ends(found.missing.front());
        CHECK(std::set{a, b} == std::set{dead.a.node, dead.b.node});
        CHECK(port_a >= unknown_port);
        CHECK(port_b >= unknown_port);
    }
}

TEST_CASE("A cable that is missing inside an open mesh is found, and its edges are left open") {
    for (const auto& torus :
         {Torus(std::vector{3, 4}, {false, false}), Torus(std::vector{4, 3}, {false, true}),
          Torus(std::vector{3, 3, 3}, {false, false, true})}) {
        const Machine whole = wire(torus);
        CHECK(complete(whole).missing.empty());
        for (std::size_t i = 0; i < whole.cables.size(); i += 3) {
            Machine machine = whole;
            const Cable dead = kill(machine, i);
            CAPTURE(torus.describe(), i);
            CHECK(ends(complete(machine).missing) == std::set{ends(dead)});
        }
    }
}

TEST_CASE("A line is a ring with a dead cable only if both of its ends have an idle port") {
    Machine line = wire(Torus(std::vector{4}, {false}));
    CHECK(complete(line).missing.empty());
    line.idle = {{0, 1}};
    CHECK(complete(line).missing.empty());
    line.idle = {{0, 1}, {3, 7}};
    CHECK(complete(line).missing.empty());
    line.idle = {{0, 1}, {3, 0}};
    const Completion ring = complete(line);
    CHECK(ring.missing.size() == 1);
    CHECK(ring.torus.found->torus.periodic(0));
}

TEST_CASE(
    "Cables that no few others complete to a torus are refused with the reason without others") {
    Machine machine = wire(Torus(std::vector{4, 4}));
    std::swap(machine.cables[0].b, machine.cables[9].b);
    const Completion swapped = complete(machine);
    CHECK_FALSE(swapped.torus.found);
    CHECK(swapped.missing.empty());
    CHECK(swapped.torus.reason == recognize_torus(machine.names, machine.cables).reason);

    // A host that was forgotten leaves cables to nowhere, which no others complete.
    Machine forgotten = wire(Torus(std::vector{3, 3}));
    forgotten.names.pop_back();
    std::erase_if(forgotten.cables,
                  [](const Cable& cable) { return cable.a.node == 8 || cable.b.node == 8; });
    CHECK_FALSE(complete(forgotten).torus.found);
    CHECK_FALSE(complete({{"a", "b"}, {}, {}}).torus.found);
}

TEST_CASE("The search ends on a large machine with a few missing cables") {
    std::mt19937 dice(7);
    Machine machine = wire(Torus(std::vector{8, 8, 8}));
    std::vector<Cable> dead;
    for (int i = 0; i < 4; ++i) dead.push_back(kill(machine, dice() % machine.cables.size()));
    CHECK(ends(complete(machine).missing) == ends(dead));
}

}  // namespace missing_cables_test
