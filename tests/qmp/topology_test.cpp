// SPDX-License-Identifier: BSD-3-Clause
#include "qmp/topology.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using torusmp::qmp::Topology;

TEST_CASE("Without a map the first dimension runs fastest") {
    const Topology topology({2, 3, 4}, {}, 9);
    CHECK(topology.coordinates() == std::vector<int>{1, 1, 1});
    CHECK(topology.neighbour(0, true) == 8);
    CHECK(topology.neighbour(0, false) == 8);
    CHECK(topology.neighbour(1, true) == 11);
    CHECK(topology.neighbour(1, false) == 7);
    CHECK(topology.neighbour(2, true) == 15);
}

TEST_CASE("With a map its first entry runs fastest") {
    const Topology topology({2, 3, 4}, {2, 0, 1}, 5);
    CHECK(topology.coordinates() == std::vector<int>{1, 0, 1});
    const int there[] = {1, 2, 3};
    CHECK(topology.node_of(there) == 3 + 4 * (1 + 2 * 2));
}

TEST_CASE("Nodes and coordinates are inverse, whatever the dimensions, the map and the order") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<int> dims(1 + random() % 5);
        int size = 1;
        for (int& extent : dims) size *= extent = 1 + int(random() % 4);
        std::vector<int> map(dims.size());
        for (std::size_t i = 0; i < map.size(); ++i) map[i] = int(i);
        std::shuffle(map.begin(), map.end(), random);
        if (random() % 2) map.clear();
        std::vector<int> order(std::size_t(size), 0);
        for (int i = 0; i < size; ++i) order[std::size_t(i)] = i;
        std::shuffle(order.begin(), order.end(), random);
        if (random() % 2) order.clear();

        const Topology topology(dims, map, 0, order);
        std::vector<int> c(dims.size());
        for (int node = 0; node < size; ++node) {
            topology.coordinates_of(node, c.data());
            REQUIRE(topology.inside(c.data()));
            REQUIRE(topology.node_of(c.data()) == node);
        }
        c[0] = dims[0];
        CHECK_FALSE(topology.inside(c.data()));
        c[0] = -1;
        CHECK_FALSE(topology.inside(c.data()));
    }
}
