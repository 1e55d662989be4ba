// SPDX-License-Identifier: BSD-3-Clause
// The torus of a geometry file, fitted to the ranks and hosts of a job.
#include "config/fit.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "config/geometry.h"
#include "config/load.h"
#include "config/network.h"
#include "job/settings.h"

using namespace torusmp;
using namespace torusmp::config;
using Catch::Matchers::Contains;

namespace {

// Hosts h0, h1, ... with devices up0, dn0, ...; host h3 calls them otherwise.
Settings machine(const std::string& dims, const std::string& more = {}) {
    LoadRequest request;
    request.flags.push_back({"torus.dims", dims, "--torus"});
    if (!more.empty()) request.flags.push_back({"torus.ranks_per_node", more, {}});
    const auto dimensions = 1 + std::count(dims.begin(), dims.end(), 'x');
    const routing::Torus torus = *node_torus(load(job::schema(), request, {}));
    std::string hosts, links, own;
    for (int node = 0; node < torus.size(); ++node)
        hosts += fmt::format("{}h{}", node ? "," : "", node);
    for (int d = 0; d < dimensions; ++d) {
        if (torus.extent(d) == 1) continue;
        links += fmt::format("{}{}+=up{},{}-=dn{}", links.empty() ? "" : ",", d, d, d, d);
        if (torus.size() < 4) continue;
        own += fmt::format("{}h3/{}+=odd_up{},h3/{}-=odd_dn{}", own.empty() ? "" : ",", d, d, d, d);
    }
    request.flags.push_back({"nodes.hosts", hosts, {}});
    request.flags.push_back({"links", links, {}});
    if (!own.empty()) request.flags.push_back({"links.hosts", own, {}});
    return load(job::schema(), request, {});
}

Demand ranks(int number) {
    Demand demand;
    demand.ranks = number;
    demand.ranks_option = fmt::format("-np {}", number);
    return demand;
}
Demand each(int number, Demand demand = {}) {
    demand.ranks_per_host = number;
    demand.ranks_per_host_option = fmt::format("-ppn {}", number);
    return demand;
}
Demand on(std::vector<std::string> hosts) {
    Demand demand;
    demand.hosts = std::move(hosts);
    demand.hosts_option = "-host ...";
    return demand;
}

// "2x2 of 4: h0 h1 h4 h5", with "|" behind a dimension that is open.
std::string fitted(Settings settings, const Demand& demand) {
    fit(settings, demand);
    const routing::Torus torus = *node_torus(settings);
    std::string text;
    for (int d = 0; d < torus.dimensions(); ++d)
        text += fmt::format("{}{}{}", d ? "x" : "", torus.extent(d), torus.periodic(d) ? "" : "|");
    const int size = torus.size() * ranks_on_a_node(settings);
    text += fmt::format(" {} ranks:", size);
    CHECK(rank_torus(settings, size).size() == size);
    for (const std::string& host : host_names(settings)) text += " " + host;
    // A rank reads the same from the environment, and checks it again.
    const Settings rank = load_for_rank(job::schema(), {}, export_environment(settings));
    CHECK(rank == settings);
    return text;
}

std::string refusal(const Settings& settings, const Demand& demand) {
    try {
        return fitted(settings, demand);
    } catch (const ConfigError& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("More ranks than hosts fill the hosts, consecutive ranks together") {
    CHECK(fitted(machine("4"), ranks(4)) == "4 4 ranks: h0 h1 h2 h3");
    CHECK(fitted(machine("4"), ranks(8)) == "4 8 ranks: h0 h1 h2 h3");
    CHECK(fitted(machine("4"), each(3)) == "4 12 ranks: h0 h1 h2 h3");
    CHECK(fitted(machine("4"), each(3, ranks(12))) == "4 12 ranks: h0 h1 h2 h3");
    for (const char* dims : {"4", "2x3", "3x1"}) {
        Settings settings = machine(dims);
        const int nodes = node_torus(settings)->size();
        fit(settings, ranks(2 * nodes));
        for (int rank = 0; rank < 2 * nodes; ++rank) CHECK(node_of(settings, rank) == rank / 2);
    }
}

TEST_CASE("Fewer ranks than hosts take the hosts named first, or a box of the torus") {
    CHECK(fitted(machine("4"), ranks(2)) == "2| 2 ranks: h0 h1");
    CHECK(fitted(machine("4"), ranks(1)) == "1| 1 ranks: h0");
    CHECK(fitted(machine("4"), each(2, ranks(6))) == "3| 6 ranks: h0 h1 h2");
    CHECK(fitted(machine("4", "2"), ranks(4)) == "2| 4 ranks: h0 h1");
    CHECK(fitted(machine("3x4"), ranks(4)) == "1|x4 4 ranks: h0 h1 h2 h3");
    CHECK(fitted(machine("3x4"), ranks(8)) == "2|x4 8 ranks: h0 h1 h2 h3 h4 h5 h6 h7");
    CHECK(fitted(machine("4x4"), ranks(6)) == "2|x3| 6 ranks: h0 h1 h2 h4 h5 h6");
    CHECK(fitted(machine("4x4"), ranks(9)) == "3|x3| 9 ranks: h0 h1 h2 h4 h5 h6 h8 h9 h10");
    // Every number is fitted or refused with two that fit.
    const Settings cube = machine("3x3x3");
    for (int number = 1; number <= 27; ++number) {
        const std::string found = refusal(cube, ranks(number));
        CAPTURE(number, found);
        if (found.find("form no box") == std::string::npos)
            CHECK_THAT(found, Contains(fmt::format(" {} ranks:", number)));
        else
            CHECK_THAT(found, Contains("expected a number of ranks for"));
    }
}

TEST_CASE("The links of a part are those of its cables") {
    Settings settings = machine("2x4");
    fit(settings, ranks(4));
    CHECK(link_device(settings, 3, {1, +1}) == "odd_up1");
    CHECK(link_device(settings, 1, {1, -1}) == "dn1");
    CHECK(settings[setting::links].count("0+") == 0);
    settings = machine("4");
    fit(settings, on({"h3", "h0"}));  // over the end of the ring
    CHECK(host_names(settings) == std::vector<std::string>{"h3", "h0"});
    CHECK(link_device(settings, 0, {0, +1}) == "odd_up0");
    CHECK(link_device(settings, 1, {0, -1}) == "dn0");
}

TEST_CASE("Named hosts are a box of neighbours") {
    CHECK(fitted(machine("4"), on({"h2", "h1"})) == "2| 2 ranks: h1 h2");
    CHECK(fitted(machine("4x4"), on({"h5", "h6", "h9", "h10"})) == "2|x2| 4 ranks: h5 h6 h9 h10");
    CHECK(fitted(machine("4x4"), on({"h0", "h12", "h3", "h15"})) == "2|x2| 4 ranks: h15 h12 h3 h0");
    CHECK(fitted(machine("4x4"), each(2, on({"h1", "h5", "h9", "h13"}))) ==
          "4x1| 8 ranks: h1 h5 h9 h13");
    CHECK_THAT(refusal(machine("4"), on({"h0", "h2"})), Contains("form no box"));
    CHECK_THAT(refusal(machine("4x4"), on({"h0", "h5"})), Contains("form no box"));
}

TEST_CASE("Numbers that do not fit are refused with numbers that do") {
    CHECK_THAT(refusal(machine("4"), ranks(6)), Contains("-np 4 or 8"));
    CHECK_THAT(refusal(machine("4x4"), ranks(5)), Contains("4 or 6 hosts"));
    CHECK_THAT(refusal(machine("4"), each(2, ranks(5))), Contains("-np 4 or 6"));
    CHECK_THAT(refusal(machine("4"), each(2, ranks(16))),
               Contains("needs 8 hosts, but there are 4") && Contains("-np 8") &&
                   Contains("at least 4 ranks on each host"));
    CHECK_THAT(refusal(machine("4", "2"), each(3)), Contains("expected both to agree"));
    Settings own = machine("4", "2");
    CHECK_NOTHROW(fit(own, ranks(12)));
    CHECK_THROWS_WITH(rank_torus(own, 12), Contains("makes 8 ranks"));
}
