// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "bench/torus_bench/flows.h"

using namespace torusmp;
using namespace torusmp::bench;

namespace flows_test {

routing::Torus ring_of(int extent) {
    return routing::Torus(std::vector{extent});
}

routing::Torus mesh_of(std::vector<int> dims) {
    std::vector<bool> open(dims.size(), false);
    return routing::Torus(dims, open);
}

TEST_CASE("The middle of an open mesh has a flow into each of its links and out of it") {
    CHECK(flows_through(mesh_of({3, 3}), 4).size() == 4);
    CHECK(links_used(flows_through(mesh_of({3, 3}), 4)) == 4);
    CHECK(flows_through(mesh_of({3, 3, 3}), 13).size() == 6);
    CHECK(busiest_forwarder(mesh_of({3, 3, 3})) == 13);
    CHECK(flows_through(mesh_of({7}), 3).size() == 2);
}

TEST_CASE("No rank of a pair or of a ring of three relays") {
    CHECK(flows_through(ring_of(2), 0).empty());
    CHECK(flows_through(ring_of(3), 1).empty());
    CHECK(busiest_forwarder(ring_of(2)) == 0);
    CHECK(links_used({}) == 0);
}

TEST_CASE("The shortest path of each flow leads over the rank, and no two flows share a link") {
    for (const std::vector<int>& dims :
         {std::vector{2, 2}, {2, 2, 2}, {4, 4}, {5, 3}, {4, 4, 2}, {3, 3, 2}, {6}}) {
        const routing::Torus torus(dims);
        const int node = busiest_forwarder(torus);
        const auto flows = flows_through(torus, node);
        CHECK(!flows.empty());
        std::set<int> in, out;
        for (const Flow& flow : flows) {
            const auto path = torus.path(flow.from, flow.to);
            REQUIRE(path.size() == 2);
            CHECK(path[0].rank == node);
            CHECK(path[1].rank == flow.to);
            CHECK(torus.neighbour(node, flow.in) == flow.from);
            CHECK(torus.neighbour(node, flow.out) == flow.to);
            CHECK(in.insert(flow.in.index()).second);
            CHECK(out.insert(flow.out.index()).second);
        }
    }
}

}  // namespace flows_test
