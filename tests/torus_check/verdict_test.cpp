// SPDX-License-Identifier: BSD-3-Clause
// The faults of cables, found from the packets that hosts received.
#include "programs/torus_check/verdict.h"

#include <catch2/catch.hpp>

#include "config/geometry.h"
#include "core/settings.h"
#include "programs/torus_check/report.h"
#include "tests/torus_check/made_up.h"

using namespace torusmp;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using test::MadeUp;

namespace {

std::string only(const std::vector<std::string>& findings) {
    INFO(findings.size() << " findings, the last: " << (findings.empty() ? "" : findings.back()));
    REQUIRE(findings.size() == 1);
    return findings[0];
}

}  // namespace

TEST_CASE("torus-check: a machine without faults has no findings") {
    CHECK(MadeUp({3, 3}).findings().empty());
    CHECK(MadeUp({2}).findings().empty());
    CHECK(MadeUp({2, 1, 4}, {true, true, false}).findings().empty());
    CHECK(torus_check::judge(MadeUp({2, 2, 2}).settings(), MadeUp({2, 2, 2}).results, {}).size() ==
          24);
    CHECK(torus_check::judge(MadeUp({4}, {false}).settings(), MadeUp({4}, {false}).results, {})
              .size() == 3);
}

TEST_CASE("torus-check: two exchanged cables are swapped, or crossed if both end at one host") {
    MadeUp swapped({4, 4});
    swapped.pull({0, "up0"}, {4, "dn0"});
    swapped.pull({5, "up1"}, {6, "dn1"});
    swapped.plug({0, "up0"}, {6, "dn1"});
    swapped.plug({5, "up1"}, {4, "dn0"});
    auto found = swapped.findings();
    REQUIRE(found.size() == 2);
    CHECK_THAT(found[0], StartsWith("swapped: h0 up0 (0+) leads to h6 dn1 (1-), expected h4 dn0") &&
                             Contains("exchange it with the cable from h5 up1 (1+)"));
    CHECK_THAT(found[1], StartsWith("swapped: h5 up1 (1+) leads to h4 dn0 (0-)"));

    MadeUp crossed({4, 4});  // node 5 has the cables of its two minus sides exchanged
    crossed.pull({1, "up0"}, {5, "dn0"});
    crossed.pull({4, "up1"}, {5, "dn1"});
    crossed.plug({1, "up0"}, {5, "dn1"});
    crossed.plug({4, "up1"}, {5, "dn0"});
    found = crossed.findings();
    REQUIRE(found.size() == 2);
    for (const std::string& text : found)
        CHECK_THAT(text, StartsWith("crossed: the devices dn0 and dn1 of h5 are exchanged: "));
    CHECK_THAT(found[0], Contains("exchange the two plugs") && Contains("MAC addresses"));
}

TEST_CASE(
    "torus-check: two devices of a host that are exchanged are named from both of its cables") {
    MadeUp ring({4});
    ring.pull({0, "up0"}, {1, "dn0"});
    ring.pull({3, "up0"}, {0, "dn0"});
    ring.plug({0, "up0"}, {3, "up0"});
    ring.plug({0, "dn0"}, {1, "dn0"});
    const auto found = ring.findings();
    REQUIRE(found.size() == 2);
    CHECK_THAT(found[0],
               StartsWith("swapped: the devices dn0 and up0 of h0 are exchanged: h0 up0 "
                          "(0+) leads to h3 up0 (0+), expected h1 dn0 (0-). If the plugs"));
    CHECK_THAT(found[1], StartsWith("crossed: the devices dn0 and up0 of h0 are exchanged: "));
}

TEST_CASE(
    "torus-check: a cable in a device that has no link is misplaced, and so are three exchanged in "
    "a circle") {
    MadeUp machine({4});
    machine.pull({0, "up0"}, {1, "dn0"});
    machine.plug({0, "up0"}, {1, "eth9"});
    CHECK_THAT(only(machine.findings()),
               StartsWith("misplaced: h0 up0 (0+) leads to h1 eth9 (no link), expected h1 dn0"));

    MadeUp round({6});
    for (const int node : {0, 2, 4}) round.pull({node, "up0"}, {node + 1, "dn0"});
    round.plug({0, "up0"}, {3, "dn0"});
    round.plug({2, "up0"}, {5, "dn0"});
    round.plug({4, "up0"}, {1, "dn0"});
    const auto found = round.findings();
    CHECK(found.size() == 6);
    for (const std::string& text : found) CHECK_THAT(text, StartsWith("misplaced: "));
}

TEST_CASE("torus-check: a missing cable is reported with the known facts of its ends") {
    MadeUp silent({4});
    silent.pull({2, "up0"}, {3, "dn0"});
    CHECK_THAT(only(silent.findings()), StartsWith("missing: both ends have a carrier") &&
                                            Contains("h2 up0 (0+)") && Contains("h3 dn0 (0-)"));
    MadeUp dark({4});
    dark.device({2, "up0"}).carrier = false;
    CHECK_THAT(only(dark.findings()), StartsWith("missing: h2 up0 has no carrier"));
    MadeUp down({4});
    down.device({3, "dn0"}).up = false;
    CHECK_THAT(only(down.findings()), StartsWith("missing: h3 dn0 is down"));
    MadeUp gone({4});
    gone.device({3, "dn0"}).name = "eth0";
    CHECK_THAT(only(gone.findings()), StartsWith("missing: h3 has no device dn0"));
}

TEST_CASE("torus-check: links that are slower than the others or at half duplex are slow") {
    MadeUp machine({4});
    machine.device({1, "up0"}).megabits = 100;
    CHECK_THAT(only(machine.findings()),
               StartsWith("slow: h1 up0 (0+) runs at 100 Mbit/s, expected 1000"));
    machine = MadeUp({4});
    machine.device({1, "up0"}).full_duplex = false;
    CHECK_THAT(only(machine.findings()), StartsWith("slow: h1 up0 (0+) runs at half duplex"));
    machine = MadeUp({4});
    machine.device({1, "up0"}).megabits.reset();  // a driver that does not say
    machine.device({1, "up0"}).full_duplex.reset();
    CHECK(machine.findings().empty());
    CHECK(machine.findings({10000, {}, 0.01}).size() == 7);
}

TEST_CASE("torus-check: an MTU below the machine's is reported, with or without an expected MTU") {
    MadeUp machine({4});
    machine.device({1, "up0"}).mtu = 1500;
    CHECK_THAT(only(machine.findings()),
               StartsWith("small MTU: h1 up0 (0+) has MTU 1500, expected 9000"));
    machine = MadeUp({4});
    machine.hear({1, "up0"}, {2, "dn0"}, test::small_probes, 0);
    CHECK_THAT(
        only(machine.findings()),
        StartsWith("small MTU: no packet of 9000 bytes arrives from h1 up0") && Contains("h2 dn0"));
    CHECK(MadeUp({4}).findings({{}, 9216, 0.01}).size() == 8);
}

TEST_CASE("torus-check: loss above the limit is reported by direction") {
    MadeUp machine({4});
    machine.hear({1, "up0"}, {2, "dn0"}, test::small_probes - 10, test::large_probes);
    CHECK_THAT(only(machine.findings()),
               StartsWith("lossy: 10 of 200 packets lost from h1 up0 (0+) to h2 dn0 (0-)"));
    machine.hear({1, "up0"}, {2, "dn0"}, test::small_probes - 2, test::large_probes);
    CHECK(machine.findings().empty());
    CHECK(machine.findings({{}, {}, 0.0}).size() == 1);
    machine.hear({1, "up0"}, {2, "dn0"}, test::small_probes, test::large_probes - 1);
    CHECK_THAT(only(machine.findings()), StartsWith("lossy: 1 of 8 packets of 9000 bytes"));
    machine.hear({1, "up0"}, {2, "dn0"}, 0, 0);  // one way only
    CHECK_THAT(only(machine.findings()), StartsWith("lossy: 200 of 200 packets lost from h1 up0"));
    // Packets that the receiving host was too slow to take are not the cable's fault.
    machine.hear({1, "up0"}, {2, "dn0"}, test::small_probes - 10, test::large_probes);
    for (torus_check::Sent& sent : machine.host(2).report.sent)
        if (sent.device == "dn0") sent.overflow = 10;
    CHECK(machine.findings().empty());
}

TEST_CASE("torus-check: a device that hears several far ends is shared") {
    MadeUp machine({4});
    machine.plug({0, "up0"}, {2, "dn0"});
    const auto found = machine.findings();
    REQUIRE(found.size() == 2);
    CHECK_THAT(found[0],
               StartsWith("shared: h0 up0 (0+) receives from 2 other ends") && Contains("switch"));
}

TEST_CASE("torus-check: cables of an unreachable host are unknown, the others are checked") {
    MadeUp machine({5});
    machine.host(1).trouble = "no route to host";
    machine.device({3, "up0"}).mtu = 1500;
    const auto found = machine.findings();
    REQUIRE(found.size() == 3);
    CHECK_THAT(found[0], StartsWith("unknown: h1 was not tested"));
    CHECK_THAT(found[2], StartsWith("small MTU: h3 up0"));
}

TEST_CASE("torus-check: the report has a summary line, and the exit code agrees with it") {
    MadeUp machine({2, 2});
    torus_check::CheckReport report{machine.names, std::vector<std::string>(4), {}, {}, {}, {}};
    report.cables = torus_check::judge(machine.settings(), machine.results, {});
    CHECK(report.good());
    CHECK(torus_check::verdict_line(report) == "4 hosts, 8 cables: all are good");
    CHECK_THAT(torus_check::report_text(report, true), Contains("h0 up0 (0+)") && Contains("good"));
    CHECK(torus_check::report_text(report, false) == "4 hosts, 8 cables: all are good\n");

    report.notes = {"a link goes over TCP"};  // nothing is wrong with that
    CHECK(report.good());
    CHECK(torus_check::report_text(report, false) ==
          "note: a link goes over TCP\n\n4 hosts, 8 cables: all are good\n");
    CHECK_THAT(torus_check::report_json(report), Contains("\"a link goes over TCP\""));
    report.notes.clear();

    machine.device({0, "up0"}).carrier = false;
    report.cables = torus_check::judge(machine.settings(), machine.results, {});
    CHECK_FALSE(report.good());
    CHECK(torus_check::verdict_line(report) == "4 hosts, 8 cables: 7 good, 1 missing");
    report.outlook = torus_check::outlook_for_jobs(machine.settings(), report.cables);
    CHECK(torus_check::verdict_line(report) ==
          "4 hosts, 8 cables: 7 good, 1 missing; jobs use a detour around it");
    report.outlook.clear();
    report.cables = torus_check::judge(MadeUp({2, 2}).settings(), MadeUp({2, 2}).results, {});
    report.messages = {"torus.toml:3: a \"quoted\" word"};
    CHECK_FALSE(report.good());
    CHECK_THAT(torus_check::verdict_line(report), Contains("settings do not match"));
    CHECK_THAT(torus_check::report_json(report),
               Contains("\\\"quoted\\\"") && Contains("\"good\": false"));
}

TEST_CASE("torus-check: the report on dead cables says if jobs can start") {
    MadeUp machine({3, 3});
    const auto outlook = [&](config::Settings settings) {
        return torus_check::outlook_for_jobs(settings,
                                             torus_check::judge(settings, machine.results, {}));
    };
    CHECK(outlook(machine.settings()).empty());
    machine.device({0, "up0"}).mtu = 1500;  // it works
    CHECK(outlook(machine.settings()).empty());
    machine.device({0, "up1"}).up = false;
    machine.pull({4, "up0"}, {7, "dn0"});
    CHECK(outlook(machine.settings()) == "jobs use detours around them");
    config::Settings settings = machine.settings();
    settings.set(core::setting::detour, false);
    CHECK(outlook(settings) == "jobs cannot start: routing.detour = false");
    settings = machine.settings();
    settings.set(config::setting::forward, config::Forward::kernel);
    CHECK(outlook(settings) == "jobs cannot start: routing.forward = \"kernel\"");
    for (const char* device : {"up0", "dn0", "up1", "dn1"})
        machine.device({4, device}).carrier = false;
    CHECK(outlook(machine.settings()) ==
          "jobs cannot start: h0, h1, h2, h3, h5, h6, h7 and h8 on one side, h4 on the other");
    machine.host(4).trouble = "no such host";
    CHECK(outlook(machine.settings()).empty());
}
