// SPDX-License-Identifier: BSD-3-Clause
// torus.cables: machines whose cables do not form a torus.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "config/cable.h"
#include "config/fit.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/network.h"
#include "job/settings.h"

namespace cables_test {

using namespace torusmp;
using namespace torusmp::config;
using Catch::Matchers::Contains;

const std::string mesh = "a 1 - b 1,a 2 - c 1,a 3 - d 1,b 2 - c 2,b 3 - d 2,c 3 - d 3";

Settings machine(const std::string& cables, std::vector<Flag> more = {},
                 const std::string& hosts = "a,b,c,d") {
    LoadRequest request;
    request.flags = {{"torus.cables", cables, {}}, {"nodes.hosts", hosts, {}}};
    request.flags.insert(request.flags.end(), more.begin(), more.end());
    return load(job::schema(), request, {});
}

std::string refusal(const std::string& cables, std::vector<Flag> more = {},
                    const std::string& hosts = "a,b,c,d") {
    try {
        machine(cables, std::move(more), hosts);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return {};
}

// Each cable of the list, and no other, is a link whose two ends name its two devices.
void check_links(const Settings& settings) {
    const routing::Torus torus = *node_torus(settings);
    const auto& hosts = host_names(settings);
    std::set<std::pair<Cables::End, Cables::End>> listed, found;
    for (const auto& [one, other] : settings[setting::cables].list)
        listed.insert(std::minmax(one, other));
    for (int node = 0; node < torus.size(); ++node)
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const auto peer = torus.neighbour(node, direction);
            const std::string device = link_device(settings, node, direction);
            CHECK(device.empty() == !peer.has_value());
            if (!peer) continue;
            const Cables::End here{hosts[std::size_t(node)], device};
            const Cables::End there{hosts[std::size_t(*peer)],
                                    link_device(settings, *peer, direction.opposite())};
            found.insert(std::minmax(here, there));
            CHECK(cable_at(settings, node, device) == routing::link_by(torus, node, direction));
        }
    CHECK(found == listed);
}

TEST_CASE("a list of cables is the graph of its hosts") {
    const Settings settings = machine(mesh);
    CHECK(node_torus(settings)->describe() == "graph of 4 with 6 cables");
    CHECK(rank_torus(settings, 4) == *node_torus(settings));
    check_links(settings);
    check_links(machine("a x - b x,b y - a y,a z - b z", {}, "a,b"));
}

TEST_CASE("ranks get the cables that their launcher has read") {
    const Settings settings = machine(mesh);
    const Settings inherited = load_for_rank(job::schema(), {}, export_environment(settings));
    CHECK(inherited[setting::cables] == settings[setting::cables]);
    check_links(inherited);
}

TEST_CASE("jobs can use some hosts of a graph, or put several ranks on each") {
    Settings some = machine(mesh);
    Demand demand;
    demand.ranks = 3;
    demand.ranks_option = "-np 3";
    fit(some, demand);
    CHECK(host_names(some) == std::vector<std::string>{"a", "b", "c"});
    CHECK(rank_torus(some, 3).describe() == "graph of 3 with 3 cables");
    check_links(some);

    Settings one = machine(mesh);
    demand.ranks = 1;
    fit(one, demand);
    CHECK(rank_torus(one, 1).size() == 1);

    Settings full = machine(mesh);
    demand.ranks = 12;
    fit(full, demand);
    CHECK(ranks_on_a_node(full) == 3);
    const routing::Torus ranks = rank_torus(full, 12);
    CHECK(ranks.distance(0, 11) == 2);
    // Cable 1+ of a node is link 1+ of each of its ranks.
    for (int rank = 0; rank < 12; ++rank)
        for (int i = 0; i < 2 * ranks.link_dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const auto cable = cable_under(full, ranks, rank, direction);
            const auto next = ranks.neighbour(rank, direction);
            CHECK(cable.has_value() == (next && node_of(full, *next) != node_of(full, rank)));
        }

    Settings star = machine("a 1 - b 1,a 2 - c 1,a 3 - d 1");
    Demand leaves;
    leaves.hosts = {"b", "d"};
    leaves.hosts_option = "-host b,d";
    CHECK_THROWS_WITH(fit(star, leaves),
                      Contains("-host b,d: no cables connect 2 hosts of b and d"));
}

TEST_CASE("impossible cables are refused with the reason") {
    CHECK_THAT(refusal("a 1 - b 1,c 1 - d 1"), Contains("no cable leads from a and b to c and d"));
    CHECK_THAT(refusal("a 1 - b 1,b 1 - c 1,c 2 - d 1"),
               Contains("\"b 1 - c 1\" of torus.cables: b 1 is also an end of cable 1"));
    CHECK_THAT(refusal("a 1 - nod 1", {}, "a,node"), Contains("did you mean node?"));
    CHECK_THAT(refusal("a 1 - a 2"), Contains("both ends are on a"));
    CHECK_THAT(refusal(mesh, {{"torus.dims", "2x2", "--torus"}}),
               Contains("torus.dims and torus.cables"));
    CHECK_THAT(refusal(mesh, {{"links", "0+=x", {}}}), Contains("[links] and torus.cables"));
    CHECK_THAT(refusal("a 1 - b 1", {}, "a"), Contains("needs nodes.hosts"));
    std::string many;
    for (int i = 0; i < 13; ++i)
        many += fmt::format("{}a x{} - b x{}", many.empty() ? "" : ",", i, i);
    CHECK_THAT(refusal(many, {}, "a,b"), Contains("gives a 13 cables: expected at most 12"));
    CHECK_THAT(refusal(many.substr(0, many.rfind(',')), {{"torus.ranks_per_node", "2", {}}}, "a,b"),
               Contains("at most 10 where a host has several ranks"));
}

}  // namespace cables_test
