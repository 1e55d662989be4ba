// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a job while spares wait, and after hosts have died.
#include "config/living.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "config/geometry.h"
#include "config/load.h"
#include "config/network.h"
#include "job/settings.h"

namespace torusmp::config::living_test {

namespace {

using Names = std::vector<std::string>;

// Hosts h0, h1, ... with devices up0, dn0, ...
Settings machine(const std::string& dims, bool cabled = true) {
    LoadRequest request;
    request.flags.push_back({"torus.dims", dims, "--torus"});
    const routing::Torus torus = *node_torus(load(job::schema(), request, {}));
    std::string hosts, links;
    for (int node = 0; node < torus.size(); ++node)
        hosts += fmt::format("{}h{}", node ? "," : "", node);
    for (int d = 0; d < torus.dimensions(); ++d)
        if (torus.extent(d) > 1)
            links += fmt::format("{}{}+=up{},{}-=dn{}", links.empty() ? "" : ",", d, d, d, d);
    request.flags.push_back({"nodes.hosts", hosts, {}});
    if (cabled) request.flags.push_back({"links", links, {}});
    return load(job::schema(), request, {});
}

Names without(const Settings& settings, const Names& dead) {
    Names names = host_names(settings);
    std::erase_if(names, [&](const std::string& name) {
        return std::find(dead.begin(), dead.end(), name) != dead.end();
    });
    return names;
}

// Fits, and checks that a rank reads the same from its environment.
bool fits(Settings& settings, const Team& team) {
    const Settings before = settings;
    if (const std::string why = fit_living(settings, team); !why.empty()) {
        CHECK(why.starts_with(team.why + ": "));
        CHECK(settings == before);
        return false;
    }
    const int ranks = team.hosts * team.ranks_per_host;
    CHECK(int(host_names(settings).size()) == team.hosts);
    CHECK(rank_torus(settings, ranks).size() == ranks);
    CHECK(load_for_rank(job::schema(), {}, export_environment(settings)) == settings);
    return true;
}

}  // namespace

TEST_CASE("A box is used if the living hosts have one, and its shape is kept") {
    const Settings whole = machine("3x3");
    Settings settings = whole;
    Team team{4, 1, without(whole, {"h0"}), nullptr, "", "test"};
    REQUIRE(fits(settings, team));
    CHECK(settings[setting::dims] == std::vector<int>{2, 2});
    CHECK(settings[setting::cables].list.empty());
    Settings next = whole;
    const Settings before = settings;
    team.usable = without(whole, {"h0", host_names(before)[0]});
    team.before = &before;
    REQUIRE(fits(next, team));
    CHECK(next[setting::dims] == std::vector<int>{2, 2});
}

TEST_CASE("A torus with a hole is a graph, in which the other hosts keep their places") {
    const Settings whole = machine("3x3");
    Settings first = whole;
    REQUIRE(fits(first, {8, 1, without(whole, {"h8"}), nullptr, "", "test"}));
    CHECK(host_names(first) == Names{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"});
    CHECK(first[setting::cables].list.size() == 18 - 4);
    Settings next = whole;
    REQUIRE(fits(next, {8, 2, without(whole, {"h4"}), &first, "h0", "test"}));
    CHECK(host_names(next) == Names{"h0", "h1", "h2", "h3", "h8", "h5", "h6", "h7"});
    CHECK(ranks_on_a_node(next) == 2);
    CHECK(next[setting::cables].list.size() == 18 - 4);
}

TEST_CASE("Hosts that are not joined by cables cannot run a job") {
    Settings ring = machine("6");
    CHECK_FALSE(fits(ring, {4, 1, {"h0", "h1", "h3", "h4"}, nullptr, "", "test"}));
    CHECK_FALSE(fits(ring, {4, 1, {"h0", "h1", "h2"}, nullptr, "", "test"}));
    CHECK(fits(ring, {2, 1, {"h0", "h2", "h3", "h5"}, nullptr, "h3", "test"}));
    CHECK(host_names(ring) == Names{"h2", "h3"});
}

TEST_CASE("Hosts without links of their own replace each other") {
    const Settings whole = machine("2x3", false);
    Settings first = whole;
    REQUIRE(fits(first, {4, 1, without(whole, {"h1"}), nullptr, "", "test"}));
    CHECK(host_names(first) == Names{"h0", "h2", "h3", "h4"});
    Settings next = whole;
    REQUIRE(fits(next, {4, 1, {"h0", "h1", "h3", "h4", "h5"}, &first, "", "test"}));
    CHECK(host_names(next) == Names{"h0", "h1", "h3", "h4"});
    CHECK(next[setting::dims] == first[setting::dims]);
}

TEST_CASE("The chosen hosts are always alive and joined") {
    std::mt19937 random(1);
    for (const char* dims : {"7", "3x3", "2x2x2", "4x3", "2x2x2x2"}) {
        const Settings whole = machine(dims);
        const int size = int(host_names(whole).size());
        for (int round = 0; round < 60; ++round) {
            Names usable = host_names(whole);
            std::shuffle(usable.begin(), usable.end(), random);
            usable.resize(1 + random() % std::size_t(size));
            const int hosts = 1 + int(random() % usable.size());
            Settings settings = whole;
            CAPTURE(dims, usable, hosts);
            if (!fits(settings, {hosts, 1, usable, nullptr, "", "test"})) continue;
            for (const std::string& host : host_names(settings))
                CHECK(std::find(usable.begin(), usable.end(), host) != usable.end());
        }
    }
}

}  // namespace torusmp::config::living_test
