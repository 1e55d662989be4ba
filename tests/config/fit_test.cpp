// SPDX-License-Identifier: BSD-3-Clause
// The torus of a geometry file, fitted to the ranks and hosts of a job.
#include "config/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "config/box.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/network.h"
#include "job/settings.h"

using namespace torusmp;
using namespace torusmp::config;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

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
}

TEST_CASE("If no box has so many hosts, the hosts named first are a graph of their cables") {
    CHECK(fitted(machine("2x2x2"), ranks(3)) == "3 3 ranks: h0 h1 h2");
    CHECK(fitted(machine("2x2x2"), ranks(5)) == "5 5 ranks: h0 h1 h2 h3 h4");
    CHECK(fitted(machine("4x4"), ranks(5)) == "5 5 ranks: h0 h1 h2 h3 h4");
    CHECK(fitted(machine("2x2x2"), each(2, ranks(10))) == "5 10 ranks: h0 h1 h2 h3 h4");
    CHECK(fitted(machine("2x2x2", "1x1x2"), ranks(6)) == "3 6 ranks: h0 h1 h2");
    Settings settings = machine("2x2x2");
    fit(settings, ranks(3));
    CHECK(node_torus(settings)->describe() == "graph of 3 with 4 cables");
    CHECK_THAT(refusal(machine("33x32"), ranks(1049)),
               Contains("-np 1049: ") && Contains("expected at most 1024 ranks in all, since the "
                                                  "cables do not form a torus"));
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
    Demand some = ranks(2);
    some.hosts = {"h7", "h6", "h2"};
    CHECK(fitted(machine("4x4"), some) == "1|x2| 2 ranks: h6 h7");
}

TEST_CASE("Named hosts that do not form a box are a graph, in their order") {
    CHECK(fitted(machine("4x4"), on({"h6", "h5", "h1"})) == "3| 3 ranks: h6 h5 h1");
    Demand two = ranks(2);
    two.hosts = {"h15", "h0", "h5", "h4"};  // no cable joins the first two
    CHECK(fitted(machine("4x4"), two) == "2|x1| 2 ranks: h0 h4");
    two.ranks = 1;
    CHECK(fitted(machine("4x4"), two) == "1|x1| 1 ranks: h15");
    CHECK_THAT(refusal(machine("4"), on({"h0", "h2"})),
               Contains("-host ...: no cables connect 2 hosts of h0 and h2: expected hosts that "
                        "cables connect to each other"));
    CHECK_THAT(refusal(machine("4x4"), on({"h0", "h5"})), Contains("no cables connect"));
}

TEST_CASE("Numbers that do not fit are refused with numbers that fit") {
    CHECK_THAT(refusal(machine("4"), ranks(6)),
               Contains("6 ranks do not evenly fill the 4 hosts: expected -np 4 or 8, or -ppn 2 (2 "
                        "ranks on each of 3 hosts)"));
    CHECK_THAT(refusal(machine("4"), ranks(7)), Contains("or -ppn 7 (7 ranks on one host)"));
    CHECK_THAT(refusal(machine("4"), each(2, ranks(1))), EndsWith("expected -np 2"));
    CHECK_THAT(refusal(machine("4"), each(2, ranks(5))), Contains("-np 4 or 6"));
    CHECK_THAT(refusal(machine("4"), each(2, ranks(16))),
               Contains("needs 8 hosts, but there are 4") && Contains("-np 8") &&
                   Contains("at least 4 ranks on each host"));
    CHECK_THAT(refusal(machine("4", "2"), each(3)), Contains("expected both to agree"));
    CHECK_THAT(refusal(machine("4", "2"), ranks(12)),
               Contains("-np 12 with torus.ranks_per_node = 2 (--set torus.ranks_per_node) needs 6 "
                        "hosts, but there are 4: expected at most -np 8"));
    CHECK_THAT(refusal(machine("4", "2"), ranks(3)), Contains("expected -np 2 or 4"));
}

namespace {

// Any connected graph, in which hosts that are named one after the other need not be neighbours.
Settings random_graph(std::mt19937& random) {
    const int size = 2 + int(random() % 10);
    std::string hosts, cables;
    const auto add = [&](int one, int other) {
        static int device = 0;
        cables += fmt::format("{}h{} d{} - h{} d{}", cables.empty() ? "" : ",", one, device, other,
                              device + 1);
        device += 2;
    };
    std::vector<int> order(std::size_t(size), 0);
    for (int node = 0; node < size; ++node) order[std::size_t(node)] = node;
    std::shuffle(order.begin(), order.end(), random);
    for (int node = 0; node < size; ++node) {
        hosts += fmt::format("{}h{}", node ? "," : "", node);
        if (node == 0) continue;
        const int from = order[std::size_t(node)];
        const int to = order[std::size_t(node - 1 - int(random() % 2) * int(node > 1))];
        add(from, to);
        if (random() % 3 == 0 && from != order[0]) add(order[0], from);
    }
    LoadRequest request;
    request.flags = {{"torus.cables", cables, {}}, {"nodes.hosts", hosts, {}}};
    return load(job::schema(), request, {});
}

int links_between(const routing::Torus& torus, const std::set<int>& nodes) {
    int links = 0;
    for (const int node : nodes)
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i)
            if (const auto next = torus.neighbour(node, routing::Direction::from_index(i)))
                links += int(nodes.contains(*next));
    return links;
}

// The largest number of these nodes that cables between them join.
int largest_part(const routing::Torus& torus, const std::set<int>& nodes) {
    std::set<int> left = nodes;
    int largest = 0;
    while (!left.empty()) {
        std::vector<int> part{*left.begin()};
        left.erase(left.begin());
        for (std::size_t at = 0; at < part.size(); ++at)
            for (int i = 0; i < 2 * torus.link_dimensions(); ++i)
                if (const auto next = torus.neighbour(part[at], routing::Direction::from_index(i));
                    next && left.erase(*next) > 0)
                    part.push_back(*next);
        largest = std::max(largest, int(part.size()));
    }
    return largest;
}

std::set<int> nodes_named(const Settings& whole, const std::vector<std::string>& names) {
    std::set<int> nodes;
    for (const std::string& name : names) nodes.insert(*find_host(host_names(whole), name));
    return nodes;
}

}  // namespace

TEST_CASE("On any machine each set of hosts that cables can join runs as many ranks") {
    std::mt19937 random(7);
    for (int round = 0; round < 150; ++round) {
        const char* const tori[] = {"7", "3x3", "2x2x2", "4x3", "5x1x2", "2x2x2x2"};
        const bool torus = round % 2 == 0;
        const Settings whole =
            torus ? machine(tori[random() % std::size(tori)]) : random_graph(random);
        const routing::Torus cabled = *node_torus(whole);
        std::vector<std::string> names = host_names(whole);
        const bool some = random() % 2 == 0 && names.size() > 2;
        if (some) {
            std::shuffle(names.begin(), names.end(), random);
            names.resize(1 + random() % (names.size() - 1));
        }
        const std::set<int> usable = nodes_named(whole, names);
        for (int number = 1; number <= int(names.size()); ++number) {
            CAPTURE(round, cabled.describe(), names, number);
            Demand demand = ranks(number);
            if (some) demand.hosts = names;
            demand.hosts_option = "-host ...";
            Settings part = whole;
            if (largest_part(cabled, usable) < number) {
                CHECK_THROWS_WITH(fit(part, demand), Contains("no cables connect"));
                continue;
            }
            fit(part, demand);
            const std::set<int> nodes = nodes_named(whole, host_names(part));
            REQUIRE(int(nodes.size()) == number);
            CHECK(rank_torus(part, number).size() == number);
            CHECK(std::includes(usable.begin(), usable.end(), nodes.begin(), nodes.end()));
            CHECK(largest_part(cabled, nodes) == number);
            // All cables between them, and no others, are links of the job.
            std::set<int> places;
            for (int node = 0; node < number; ++node) places.insert(node);
            CHECK(links_between(*node_torus(part), places) == links_between(cabled, nodes));
            const std::vector<std::string> first(names.begin(), names.begin() + number);
            const bool box = torus && part[setting::cables].list.empty() && number > 1;
            if (torus && demand.hosts.empty() && number > 1)
                CHECK(box == !extents_of(whole[setting::dims], number).empty());
            if (!box && largest_part(cabled, nodes_named(whole, first)) == number)
                CHECK(host_names(part) == first);
            CHECK(load_for_rank(job::schema(), {}, export_environment(part)) == part);
        }
    }
}
