// SPDX-License-Identifier: BSD-3-Clause
// A geometry file written from the packets that hosts received has the same cables.
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
void check_file(const MadeUp& machine, const torus_check::Discovery& discovery) {
    const test::TemporaryFolder folder;
    const config::Settings settings =
        config::load(job::schema(), {{}, folder.write("t.toml", discovery.geometry)},
                     std::vector<std::string>{});
    const routing::Torus torus = *node_torus(settings);
    REQUIRE(torus.size() == machine.torus.size());
    const auto number = [](const std::string& host) { return std::atoi(host.c_str() + 1); };
    std::size_t links = 0;
    for (int node = 0; node < torus.size(); ++node)
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const auto peer = torus.neighbour(node, direction);
            if (!peer) continue;
            const std::string device = config::link_device(settings, node, direction);
            const std::string far = config::link_device(settings, *peer, direction.opposite());
            const int from = number(host_names(settings)[std::size_t(node)]);
            const int to = number(host_names(settings)[std::size_t(*peer)]);
            bool wired = false;
            for (const torus_check::Heard& heard : machine.results[std::size_t(from)].report.heard)
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
        const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
        CAPTURE(found.reason);
        REQUIRE(found.torus);
        check_file(machine, found);
    }
}

TEST_CASE("A host with other device names gets a table of its own in the written file") {
    MadeUp machine({3, 3});
    machine.pull({4, "up0"}, {7, "dn0"});
    machine.plug({4, "wlan5"}, {7, "dn0"});
    const auto found =
        torus_check::discover(machine.names, machine.results, any_device, "ssh -p 2222");
    REQUIRE(found.torus);
    CHECK_THAT(found.geometry, Contains("[links.\"h4\"]") && Contains("\"wlan5\"") &&
                                   Contains("agent = \"ssh -p 2222\""));
    check_file(machine, found);
}

namespace {

// A ring or line of hosts with two ports, tb0 and tb1; bit i of `plugs`: host i has its cables the
// other way round.
MadeUp plugged(int hosts, bool ring, unsigned plugs) {
    MadeUp machine({hosts}, {ring});
    for (int node = 0; node < hosts; ++node)
        for (const bool up : {true, false})
            if (machine.torus.neighbour(node, {0, up ? +1 : -1}))
                machine.rename({node, up ? "up0" : "dn0"},
                               up == ((plugs >> node & 1) == 0) ? "tb0" : "tb1");
    return machine;
}

}  // namespace

TEST_CASE("Rings and lines are written for every way to plug their cables") {
    for (const auto& [hosts, ring] : std::vector<std::pair<int, bool>>{
             {4, true}, {6, true}, {3, true}, {2, true}, {2, false}, {3, false}, {4, false}})
        for (unsigned plugs = 0; plugs < 1U << hosts; ++plugs) {
            CAPTURE(hosts, ring, plugs);
            const MadeUp whole = plugged(hosts, ring, plugs);
            const auto found = torus_check::discover(whole.names, whole.results, any_device, "");
            REQUIRE(found.torus);
            CHECK(found.holes.empty());
            check_file(whole, found);
            if (!ring || hosts < 3) continue;
            // The dead cable's devices are known to be idle at both ends, at one, or at none.
            for (const int known : {2, 1, 0}) {
                MadeUp machine = whole;
                const std::string up = plugs & 1 ? "tb1" : "tb0", down = plugs & 2 ? "tb0" : "tb1";
                machine.pull({0, up}, {1, down});
                const auto forget = [](config::HostFacts& facts, const std::string& name) {
                    std::erase_if(facts.devices, [&](const auto& it) { return it.name == name; });
                };
                if (known < 1) forget(machine.host(0).facts, up);
                if (known < 2) forget(machine.host(1).facts, down);
                CAPTURE(known);
                const auto torn =
                    torus_check::discover(machine.names, machine.results, any_device, "");
                REQUIRE(torn.torus);
                if (!torn.torus->torus.periodic(0)) {  // a line as well, if the ports do not agree
                    check_file(machine, torn);
                    continue;
                }
                CHECK(torn.holes.size() == 1);
                CHECK(torn.cables + 1 == std::size_t(hosts));
                torus_check::Discovery all = torn;
                all.cables = std::size_t(hosts);
                check_file(whole, all);
            }
        }
}

TEST_CASE("A full mesh gives the file of a graph with all cables") {
    for (const int hosts : {4, 5}) {
        for (unsigned plugs = 0; plugs < 1U << hosts; ++plugs) {
            MadeUp machine = plugged(hosts, true, plugs);
            std::size_t diagonals = 0;
            for (int a = 0; a < hosts; ++a)
                for (int b = a + 2; b < hosts; ++b) {
                    if (a == 0 && b == hosts - 1) continue;
                    machine.plug({a, fmt::format("to{}", b)}, {b, fmt::format("to{}", a)});
                    ++diagonals;
                }
            CAPTURE(hosts, plugs);
            const auto found =
                torus_check::discover(machine.names, machine.results, any_device, "");
            CAPTURE(found.reason);
            CHECK_FALSE(found.torus);
            CHECK(found.cables == std::size_t(hosts) + diagonals);
            check_file(machine, found);
            CHECK_THAT(found.geometry, Contains("\"h0 to2 - h2 to0\""));
            REQUIRE(found.notes.size() == 1);
            CHECK_THAT(found.notes[0], Contains("do not form a torus") && Contains("all are used"));
        }
    }
}

TEST_CASE("Parallel cables are all used") {
    MadeUp machine({3});
    for (int a = 0; a < 3; ++a) machine.plug({a, "xa"}, {(a + 1) % 3, "xb"});
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    CAPTURE(found.reason);
    CHECK(found.cables == 6);
    check_file(machine, found);
}

TEST_CASE("Two hosts with more than two cables are asked about their network") {
    MadeUp machine({2});
    machine.plug({0, "lan"}, {1, "lan"});
    const auto doubtful = torus_check::discover(machine.names, machine.results, any_device, "");
    CHECK(doubtful.geometry.empty());
    CHECK_THAT(doubtful.reason, Contains("3 cables join h0 and h1") && Contains("--devices"));
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "", true);
    CHECK(found.cables == 3);
    check_file(machine, found);
}

TEST_CASE("Twins, two devices of each host on one cable, become two cables") {
    MadeUp machine({3});
    // A fourth cable between h0 and h1, on which each device hears the other host's two.
    for (const char* own : {"p", "q"})
        for (const char* far : {"r", "s"}) machine.plug({0, own}, {1, far});
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    CAPTURE(found.reason);
    CHECK(found.cables == 5);
    CHECK_THAT(found.geometry, Contains("\"h0 p - h1 r\"") && Contains("\"h0 q - h1 s\""));
    check_file(machine, found);
}

TEST_CASE("Stars, trees and tori without some cables give the file of a graph") {
    MadeUp star({5});
    for (int node = 0; node < 5; ++node) star.pull({node, "up0"}, {(node + 1) % 5, "dn0"});
    for (int leaf = 1; leaf < 5; ++leaf) star.plug({0, fmt::format("to{}", leaf)}, {leaf, "hub"});
    auto found = torus_check::discover(star.names, star.results, any_device, "");
    CAPTURE(found.reason);
    CHECK(found.shape == "graph of 5 hosts");
    CHECK(found.cables == 4);
    check_file(star, found);

    MadeUp torus({3, 3});
    for (const int node : {0, 1, 4, 8}) {
        torus.pull({node, "up0"}, {*torus.torus.neighbour(node, {0, +1}), "dn0"});
        torus.pull({node, "dn1"}, {*torus.torus.neighbour(node, {1, -1}), "up1"});
    }
    found = torus_check::discover(torus.names, torus.results, any_device, "");
    CAPTURE(found.reason);
    CHECK(found.cables == 10);
    check_file(torus, found);
}

TEST_CASE("A network that joins all hosts is omitted, with a note") {
    MadeUp machine({2, 3});
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            if (a != b) machine.plug({a, "mgmt"}, {b, "mgmt"});
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    REQUIRE(found.torus);
    REQUIRE(found.notes.size() == 1);
    CHECK_THAT(found.notes[0], Contains("mgmt of 6 hosts"));
    check_file(machine, found);
}

TEST_CASE("With two hosts and another network, the selected devices determine the cables") {
    MadeUp machine({2});
    machine.plug({0, "mgmt"}, {1, "mgmt"});
    CHECK_THAT(torus_check::discover(machine.names, machine.results, any_device, "").reason,
               Contains("3 cables join h0 and h1"));
    const auto found = torus_check::discover(
        machine.names, machine.results, [](const std::string& device) { return device != "mgmt"; },
        "");
    REQUIRE(found.torus);
    check_file(machine, found);
}

TEST_CASE("A missing cable has its place in the written file, and is reported") {
    for (const auto& dims : {std::vector{2}, {4}, {2, 2, 2}, {3, 3, 2}}) {
        const MadeUp whole(dims);
        for (int node = 0; node < whole.torus.size(); ++node) {
            MadeUp machine = whole;
            const int next = *whole.torus.neighbour(node, {0, +1});
            machine.pull({node, "up0"}, {next, "dn0"});
            CAPTURE(whole.torus.describe(), node);
            const auto found =
                torus_check::discover(machine.names, machine.results, any_device, "");
            REQUIRE(found.torus);
            REQUIRE(found.holes.size() == 1);
            CHECK_THAT(found.holes[0], Contains(fmt::format("h{} up0 (0", node)) &&
                                           Contains(fmt::format("h{} dn0 (0", next)) &&
                                           Contains(" is missing or dead: nothing is heard at "
                                                    "either end; the file contains it anyway"));
            // The file describes the whole machine, including the missing cable.
            CHECK(found.geometry ==
                  torus_check::discover(whole.names, whole.results, any_device, "").geometry);
            CHECK(found.cables + 1 == std::size_t(whole.torus.size()) * dims.size());
        }
    }
}

TEST_CASE("A host that no cable reaches is not taken for one whose cables are missing") {
    for (const int size : {3, 5, 8}) {
        MadeUp machine({size});
        machine.pull({1, "up0"}, {2, "dn0"});
        machine.pull({2, "up0"}, {3 % size, "dn0"});
        const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
        CAPTURE(size);
        CHECK(!found.torus);
        CHECK(found.geometry.empty());
        CHECK_THAT(found.reason, Contains("no cable was found between these 2 parts: ") &&
                                     Contains("; h2"));
    }
}

TEST_CASE("A second cable between two hosts is missing only if both have a device for it") {
    const bool devices_are_there = GENERATE(true, false);
    MadeUp machine({2, 2});
    const test::End ends[2][2]{{{0, "dn1"}, {1, "up1"}}, {{2, "up0"}, {0, "dn0"}}};
    for (const auto& [idle, gone] : ends) {
        machine.pull(gone, idle);
        if (!devices_are_there)
            std::erase_if(machine.host(gone.first).facts.devices,
                          [&](const auto& device) { return device.name == gone.second; });
    }
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    CHECK(bool(found.torus) == devices_are_there);
    CHECK(found.holes.size() == (devices_are_there ? 2 : 0));
    CHECK(found.cables == 6);
    CHECK_THAT(found.geometry, Contains(devices_are_there ? "dims = [2, 2]" : "cables = ["));
}

TEST_CASE("A cable that answers at one end only is reported, with the end that hears nothing") {
    MadeUp machine({3, 3});
    machine.hear({0, "up1"}, {1, "dn1"}, 0, 0);
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    REQUIRE(found.torus);
    CHECK(found.holes ==
          std::vector<std::string>{"the cable from h0 up1 (1+) to h1 dn1 (1-) answers at one end "
                                   "only: nothing arrives at h1; the file contains it anyway"});
    CHECK(found.cables == 18);
    CHECK_THAT(found.geometry, Contains("dims = [3, 3]"));
}

TEST_CASE(
    "A missing cable with an unknown device gets the name that most hosts use, or no file is "
    "written") {
    MadeUp machine({3, 3});
    machine.pull({0, "up1"}, {1, "dn1"});
    std::erase_if(machine.host(1).facts.devices,
                  [](const auto& device) { return device.name == "dn1"; });
    CHECK(torus_check::discover(machine.names, machine.results, any_device, "").holes.size() == 1);
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
    const auto found = torus_check::discover(odd.names, odd.results, any_device, "");
    REQUIRE(found.torus);
    REQUIRE(found.holes.size() == 1);
    CHECK_THAT(found.holes[0], Contains("h0 ") && Contains("h3 dn0 (0-)"));
    const test::TemporaryFolder folder;
    CHECK_NOTHROW(config::load(job::schema(), {{}, folder.write("t.toml", found.geometry)},
                               std::vector<std::string>{}));
}

TEST_CASE("A cable without a device at both ends is not reported as missing") {
    MadeUp machine({4});
    machine.pull({0, "up0"}, {1, "dn0"});
    machine.pull({3, "up0"}, {0, "dn0"});
    for (const auto& [node, name] : std::vector<std::pair<int, std::string>>{
             {0, "up0"}, {0, "dn0"}, {1, "dn0"}, {3, "up0"}})
        std::erase_if(machine.host(node).facts.devices,
                      [&](const auto& device) { return device.name == name; });
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    CHECK(found.geometry.empty());
    CHECK(found.holes.empty());
    CHECK_THAT(found.reason,
               Contains("no cable was found between these 2 parts: h0; h1, h2 and h3"));
}

TEST_CASE("Cables that do not join all hosts are refused, and the parts are named") {
    MadeUp machine({3, 3});
    for (const int node : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
        const int next = *machine.torus.neighbour(node, {0, +1});
        if (node != 4) machine.pull({node, "up0"}, {next, "dn0"});
    }
    auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    CHECK_FALSE(found.torus);
    CHECK(found.geometry.empty());
    CHECK(found.reason ==
          "no cable was found between these 2 parts: h0, h1 and h2; h3, h4, h5, h6, h7 and h8");

    MadeUp silent({3, 3});
    silent.host(2).trouble = "no such host";
    found = torus_check::discover(silent.names, silent.results, any_device, "");
    CHECK_FALSE(found.torus);
    CHECK_THAT(found.reason, Contains("h2") && Contains("no such host"));
}

TEST_CASE(
    "The same failure of the agents of all hosts is reported in one sentence, without the cables") {
    MadeUp silent({4});
    for (int node = 0; node < 4; ++node)
        silent.host(node) = {fmt::format("the agent ended with 255: ssh: connect to host h{} port "
                                         "22: Connection refused",
                                         node),
                             {},
                             {}};
    CHECK(torus_check::discover(silent.names, silent.results, any_device, "").reason ==
          "none of the 4 hosts could be asked; h0: the agent ended with 255: ssh: connect to host "
          "h0 port 22: Connection refused. ssh must reach each host without a password: try \"ssh "
          "h0 true\"");
    silent.host(2).trouble = "it did not answer in 5 s";
    const auto found = torus_check::discover(silent.names, silent.results, any_device, "");
    CHECK_THAT(found.reason, Contains("h0, h1 and h3 could not be asked; h0: the agent ended") &&
                                 Contains("; h2 could not be asked: it did not answer in 5 s") &&
                                 !Contains("cable"));
}

TEST_CASE("Devices that are down are named, with the command that brings them up") {
    MadeUp fresh({3});
    for (torus_check::HostResult& host : fresh.results) {
        host.report.heard.clear();
        for (config::Device& device : host.facts.devices) device.up = device.carrier = false;
    }
    CHECK(torus_check::discover(fresh.names, fresh.results, any_device, "").reason ==
          "no cables were found: up0 and dn0 are down on h0, h1 and h2: run \"sudo ip link set up0 "
          "up; sudo ip link set dn0 up\" there");
    const auto only_up = [](const std::string& name) { return name == "up0"; };
    CHECK_THAT(torus_check::discover(fresh.names, fresh.results, only_up, "").reason,
               Contains("up0 is down on") && !Contains("dn0"));
    // One host is down among others that are up: the cables that were found are reported too.
    MadeUp machine({3, 3});
    for (const char* name : {"up0", "dn0", "up1", "dn1"})
        machine.device({4, name}).up = machine.device({4, name}).carrier = false;
    for (const auto& [mine, far] : std::vector<std::pair<const char*, test::End>>{
             {"up0", {7, "dn0"}}, {"dn0", {1, "up0"}}, {"up1", {5, "dn1"}}, {"dn1", {3, "up1"}}})
        machine.pull({4, mine}, far);
    const auto found = torus_check::discover(machine.names, machine.results, any_device, "");
    if (found.torus) return;
    CHECK_THAT(found.reason, Contains("no cable was found between these 2 parts") && Contains("are down on h4: run"));
}
