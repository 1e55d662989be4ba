// SPDX-License-Identifier: BSD-3-Clause
// A geometry file written from what hosts heard is one that leads to the same cables.
#include "programs/torus_check/discover.h"
#include "config/geometry.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/network.h"
#include "job/settings.h"
#include "tests/config/temporary.h"
#include "tests/torus_check/made_up.h"

using namespace torusmp;
using Catch::Matchers::Contains;
using test::MadeUp;

namespace {

bool any_device(const std::string&) {
    return true;
}

// Reads the written file as every program does, and holds each of its links against the cables.
void check_file(const MadeUp& machine, const check::Discovery& discovery) {
    const test::TemporaryFolder folder;
    const config::Settings settings =
        config::load(job::schema(), {{}, folder.write("t.toml", discovery.geometry)},
                     std::vector<std::string>{});
    const routing::Torus torus = *node_torus(settings);
    REQUIRE(torus.size() == machine.torus.size());
    const auto number = [](const std::string& host) { return std::atoi(host.c_str() + 1); };
    std::size_t links = 0;
    for (int node = 0; node < torus.size(); ++node)
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const auto peer = torus.neighbour(node, direction);
            if (!peer) continue;
            const std::string device = config::link_device(settings, node, direction);
            const std::string far = config::link_device(settings, *peer, direction.opposite());
            const int from = number(host_names(settings)[std::size_t(node)]);
            const int to = number(host_names(settings)[std::size_t(*peer)]);
            bool wired = false;
            for (const check::Heard& heard : machine.results[std::size_t(from)].report.heard)
                wired = wired || (heard.device == device && heard.node == to && heard.from == far);
            INFO(discovery.geometry << "node " << node << " link "
                                    << config::direction_name(direction));
            CHECK(wired);
            ++links;
        }
    CHECK(links == 2 * discovery.cables);
}

}  // namespace

TEST_CASE("A written geometry file has the cables that were found, for tori and meshes") {
    const std::vector<std::pair<std::vector<int>, std::vector<bool>>> machines = {
        {{1}, {}},       {{2}, {true}},      {{2}, {false}},          {{5}, {true}},
        {{2, 2, 2}, {}}, {{3, 2, 4}, {}},    {{3, 4}, {false, true}}, {{3, 3}, {false, false}},
        {{4, 4}, {}},    {{1, 3, 1, 2}, {}}, {{2, 2}, {false, false}}};
    for (const auto& [dims, periodic] : machines) {
        const MadeUp machine(dims, periodic);
        CAPTURE(machine.torus.describe());
        const auto found = check::discover(machine.names, machine.results, any_device, "");
        CAPTURE(found.reason);
        REQUIRE(found.torus);
        check_file(machine, found);
    }
}

TEST_CASE("A host with other device names gets a table of its own in the written file") {
    MadeUp machine({3, 3});
    machine.pull({4, "up0"}, {7, "dn0"});
    machine.plug({4, "wlan5"}, {7, "dn0"});
    const auto found = check::discover(machine.names, machine.results, any_device, "ssh -p 2222");
    REQUIRE(found.torus);
    CHECK_THAT(found.geometry, Contains("[links.\"h4\"]") && Contains("\"wlan5\"") &&
                                   Contains("agent = \"ssh -p 2222\""));
    check_file(machine, found);
}

TEST_CASE("A network that joins all hosts is left out, with a note") {
    MadeUp machine({2, 3});
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            if (a != b) machine.plug({a, "mgmt"}, {b, "mgmt"});
    const auto found = check::discover(machine.names, machine.results, any_device, "");
    REQUIRE(found.torus);
    REQUIRE(found.notes.size() == 1);
    CHECK_THAT(found.notes[0], Contains("mgmt of 6 hosts"));
    check_file(machine, found);
}

TEST_CASE("Of two hosts with a network besides, the wanted devices tell the cables") {
    MadeUp machine({2});
    machine.plug({0, "mgmt"}, {1, "mgmt"});
    CHECK_THAT(check::discover(machine.names, machine.results, any_device, "").reason,
               Contains("3 cables join h0 and h1"));
    const auto found = check::discover(
        machine.names, machine.results, [](const std::string& device) { return device != "mgmt"; },
        "");
    REQUIRE(found.torus);
    check_file(machine, found);
}

TEST_CASE("A cable that is missing has its place in the written file, and is told of") {
    for (const auto& dims : {std::vector{2}, {4}, {2, 2, 2}, {3, 3, 2}}) {
        const MadeUp whole(dims);
        for (int node = 0; node < whole.torus.size(); ++node) {
            MadeUp machine = whole;
            const int next = *whole.torus.neighbour(node, {0, +1});
            machine.pull({node, "up0"}, {next, "dn0"});
            CAPTURE(whole.torus.describe(), node);
            const auto found = check::discover(machine.names, machine.results, any_device, "");
            REQUIRE(found.torus);
            REQUIRE(found.holes.size() == 1);
            CHECK_THAT(found.holes[0], Contains(fmt::format("h{} up0 (0", node)) &&
                                           Contains(fmt::format("h{} dn0 (0", next)) &&
                                           Contains(" is missing or dead: nothing is heard at "
                                                    "either end; the file has it all the same"));
            // The file is that of the whole machine, whose cables are not all there now.
            CHECK(found.geometry ==
                  check::discover(whole.names, whole.results, any_device, "").geometry);
            CHECK(found.cables + 1 == std::size_t(whole.torus.size()) * dims.size());
        }
    }
}

TEST_CASE("A cable that answers at one end only is told of, with the end that hears nothing") {
    MadeUp machine({3, 3});
    machine.hear({0, "up1"}, {1, "dn1"}, 0, 0);
    const auto found = check::discover(machine.names, machine.results, any_device, "");
    REQUIRE(found.torus);
    CHECK(found.holes ==
          std::vector<std::string>{"the cable from h0 up1 (1+) to h1 dn1 (1-) answers at one end "
                                   "only: nothing arrives at h1; the file has it all the same"});
    CHECK(found.cables == 18);
    CHECK_THAT(found.geometry, Contains("dims = [3, 3]"));
}

TEST_CASE(
    "A missing cable whose device nobody knows is that of most hosts, or no file is written") {
    MadeUp machine({3, 3});
    machine.pull({0, "up1"}, {1, "dn1"});
    std::erase_if(machine.host(1).facts.devices,
                  [](const auto& device) { return device.name == "dn1"; });
    CHECK(check::discover(machine.names, machine.results, any_device, "").holes.size() == 1);
    // A host that calls its devices as no other does.
    MadeUp odd({3, 3});
    odd.pull({0, "up0"}, {3, "dn0"});
    for (const auto& [from, to, far] : std::vector<std::tuple<const char*, const char*, test::End>>{
             {"dn0", "eth7", {6, "up0"}},
             {"up1", "eth8", {1, "dn1"}},
             {"dn1", "eth9", {2, "up1"}}}) {
        odd.pull({0, from}, far);
        odd.plug({0, to}, far);
    }
    odd.host(0).facts.devices.clear();
    const auto found = check::discover(odd.names, odd.results, any_device, "");
    REQUIRE(found.torus);
    REQUIRE(found.holes.size() == 1);
    CHECK_THAT(found.holes[0], Contains("h0 ") && Contains("h3 dn0 (0-)"));
    const test::TemporaryFolder folder;
    CHECK_NOTHROW(config::load(job::schema(), {{}, folder.write("t.toml", found.geometry)},
                               std::vector<std::string>{}));
}

TEST_CASE("Cables that make no torus are refused with the reason and without a file") {
    MadeUp machine({3, 3});
    for (const int node : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
        const int next = *machine.torus.neighbour(node, {0, +1});
        if (node != 4) machine.pull({node, "up0"}, {next, "dn0"});
    }
    auto found = check::discover(machine.names, machine.results, any_device, "");
    CHECK_FALSE(found.torus);
    CHECK(found.geometry.empty());
    CHECK_FALSE(found.reason.empty());

    MadeUp silent({3, 3});
    silent.host(2).trouble = "no such host";
    found = check::discover(silent.names, silent.results, any_device, "");
    CHECK_FALSE(found.torus);
    CHECK_THAT(found.reason, Contains("h2") && Contains("no such host"));
}
